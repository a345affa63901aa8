--[[
  Takes the wake markers that are set.

  KEYS the markers
  Returns the indexes of those that were set, from 1.
]]
local set = {}
for i = 1, #KEYS do
  if type(redis.pcall('LPOP', KEYS[i])) == 'string' then set[#set + 1] = i end
end
return set
