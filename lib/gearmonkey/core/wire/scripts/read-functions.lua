--[[
  Reads the index of all functions: the names that were noted last.

  KEYS[1] the index   ARGV[1] ms that an entry may be in the future   ARGV[2] most names
  Returns the names, or 0 if the key has another type.
]]
-- include clock: clock

local latest = string.format('%.0f', clock('') + ARGV[1])
local names = redis.pcall('ZREVRANGEBYSCORE', KEYS[1], latest, '-inf', 'LIMIT', '0', ARGV[2])
if names.err and string.find(names.err, 'WRONGTYPE', 1, true) then return 0 end
return names
