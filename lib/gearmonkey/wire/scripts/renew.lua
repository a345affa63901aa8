--[[
  Extends the leases that are still held.

  KEYS[1] leases   ARGV[1] now in ms, or ''   ARGV[2] length of a lease in ms   ARGV[3…] "id:token"
  Returns the members whose leases are lost. A lost lease is never restored.

  Its first write uses no memory: Redis then allows the others even if its memory is full.
]]
-- include clock

local expiry = clock(ARGV[1]) + tonumber(ARGV[2])
local lost = {}
for i = 3, #ARGV do
  if redis.call('ZREM', KEYS[1], ARGV[i]) == 1 then
    redis.call('ZADD', KEYS[1], expiry, ARGV[i])
  else
    lost[#lost + 1] = ARGV[i]
  end
end
return lost
