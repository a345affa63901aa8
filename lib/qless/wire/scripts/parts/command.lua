--- The command, and the caller's time in seconds; `args` are the rest.
-- include number: number

local command = table.remove(ARGV, 1)
if not command then error('Must provide a command') end
local given = table.remove(ARGV, 1)
local now = number(given)
if not now then
  if not string.find(COMMANDS, ' ' .. command .. ' ', 1, true) then error('Unknown command ' .. command) end
  error('Arg "now" missing or not a number: ' .. tostring(given))
end
local args = ARGV
