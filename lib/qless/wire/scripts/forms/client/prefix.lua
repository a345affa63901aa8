--- KEYS[1] is the prefix of every key and channel, and so routes the call in a Redis Cluster.
local prefix = KEYS[1]
