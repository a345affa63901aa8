--[[
  Notes functions that are used, and forgets those that were not for long: by the server's clock, as that of a client may be
  months ahead.

  KEYS[1] functions
  ARGV[1] now in ms, or ''   ARGV[2] ms after which a function is forgotten   ARGV[3…] names
  Returns 1.
]]
-- include clock
local now = clock(ARGV[1])
for i = 3, #ARGV do redis.call('ZADD', KEYS[1], 'GT', string.format('%.0f', now), ARGV[i]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - ARGV[2]))
return 1
