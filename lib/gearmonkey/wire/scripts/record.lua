--[[
  Writes what a running job records of its steps.

  KEYS[1] job hash   KEYS[2] leases
  ARGV[1] "id:token"   ARGV[2] how many fields are removed   ARGV[3…] these, then fields and values in turn
  Returns 1, or 0 when the lease is no longer this worker's (nothing is written).
]]
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
local first = 3 + tonumber(ARGV[2])
for i = 3, first - 1 do redis.call('HDEL', KEYS[1], ARGV[i]) end
for i = first, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
return 1
