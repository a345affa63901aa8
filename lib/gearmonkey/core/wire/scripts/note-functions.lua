--[[
  Notes functions in the index of all functions, at the server's time.

  KEYS[1] the index
  ARGV[1] ms after which a function is forgotten   ARGV[2] ms that an entry may be in the future   ARGV[3…] names
  Returns 0 if the key has another type, which stays as it is: another program may need it. Otherwise 1.

  Entries of programs whose clocks are far ahead are removed: they would stand before all others, and never be forgotten.
]]
-- include clock: clock

local now = clock('')

local removed = redis.pcall('ZREMRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now + ARGV[2]), '+inf')
if type(removed) == 'table' and string.find(removed.err, 'WRONGTYPE', 1, true) then return 0 end
redis.pcall('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - ARGV[1]))
local entries = {}
for i = 3, #ARGV do
  entries[#entries + 1] = string.format('%.0f', now)
  entries[#entries + 1] = ARGV[i]
end
redis.call('ZADD', KEYS[1], 'GT', unpack(entries))
return 1
