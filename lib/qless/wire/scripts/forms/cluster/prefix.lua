--- The hash tag keeps every key in one slot of a Redis Cluster.
local prefix = '{ql}:'
