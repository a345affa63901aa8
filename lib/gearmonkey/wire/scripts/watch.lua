--[[
  Elects who watches a function's channel for jobs of plain clients.

  KEYS[1] who watches   ARGV[1] worker   ARGV[2] ms it holds, or 0 to step down
  Returns 1 if this worker watches now.
]]
-- include elected

return elected(KEYS[1], ARGV[1], tonumber(ARGV[2])) and 1 or 0
