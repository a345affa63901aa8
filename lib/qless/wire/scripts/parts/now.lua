--- The first argument is the caller's time in seconds; `args` are the rest.
-- include number: number

local given = table.remove(ARGV, 1)
local now = number(given)
if not now then error('Arg "now" missing or not a number: ' .. tostring(given)) end
local args = ARGV
