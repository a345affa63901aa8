--[[
  Extends leases that are still held.

  KEYS[1] leases   ARGV[1] now in ms, or ''   ARGV[2] length of a lease in ms   ARGV[3…] "id:token"
  Returns the members that are lost. Nothing brings a lost lease back.

  It begins with a write that takes no memory: Redis then allows the others though its memory be full.
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
