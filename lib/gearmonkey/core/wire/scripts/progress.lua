--[[
  Stores and publishes the progress of a running job.

  KEYS[1] job hash   KEYS[2] leases   KEYS[3] progress channel
  ARGV[1] "id:token"   ARGV[2] dividend   ARGV[3] divisor
  Returns 1, or 0 when the lease is no longer this worker's (nothing is written).

  Its first write uses no memory: Redis then allows the other one even if its memory is full.
]]
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
redis.call('HDEL', KEYS[1], 'status:dividend', 'status:divisor')
redis.call('HSET', KEYS[1], 'status:dividend', ARGV[2], 'status:divisor', ARGV[3])
redis.pcall('PUBLISH', KEYS[3], ARGV[1] .. ':' .. ARGV[2] .. '/' .. ARGV[3])
return 1
