--[[
  Elects who watches a function's channel for jobs of plain clients.

  KEYS[1] who watches   ARGV[1] worker   ARGV[2] ms it holds, or 0 to step down
  Returns 1 if this worker watches now.
]]
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then
  redis.call('DEL', KEYS[1])
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
