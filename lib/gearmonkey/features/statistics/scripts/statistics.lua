--[[
  Adds to a function's statistics of this minute and hour.

  KEYS[1] prefix of the statistics
  ARGV[1] now in ms, or ''   ARGV[2] seconds for which they are kept   ARGV[3…] kind and count, in turn
]]
-- include clock: clock

local now = clock(ARGV[1])
local key = KEYS[1] .. string.format('%.0f', math.floor(now / 3600000))
local minute = string.format('%.0f', math.floor(now / 60000) % 60) .. ':'
for i = 3, #ARGV, 2 do
  redis.call('HINCRBY', key, minute .. ARGV[i], ARGV[i + 1])
  redis.call('HINCRBY', key, ':' .. ARGV[i], ARGV[i + 1])
end
redis.call('EXPIRE', key, ARGV[2])
return 1
