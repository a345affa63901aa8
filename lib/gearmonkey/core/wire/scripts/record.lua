--[[
  Writes what a running job records of its steps.

  KEYS[1] job hash   KEYS[2] leases
  ARGV[1] "id:token"   ARGV[2] how many fields are removed   ARGV[3…] these, then fields and values in turn
  Returns 1, or 0 when the lease is no longer this worker's (nothing is written).

  If the memory of Redis is full, a write that uses none comes first: then it allows the others.
]]
-- include calls: call, try

if not call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
local first = 3 + tonumber(ARGV[2])
for i = 3, first - 1 do call('HDEL', KEYS[1], ARGV[i]) end
for i = first, #ARGV, 2 do
  if type(try('HSET', KEYS[1], ARGV[i], ARGV[i + 1])) ~= 'number' then
    call('HDEL', KEYS[1], '')
    call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
return 1
