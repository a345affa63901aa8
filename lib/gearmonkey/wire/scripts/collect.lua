--[[
  Takes wake markers that are set.

  KEYS the markers
  Returns which of them were set: 1 for the first.
]]
local set = {}
for i = 1, #KEYS do
  if type(redis.pcall('LPOP', KEYS[i])) == 'string' then set[#set + 1] = i end
end
return set
