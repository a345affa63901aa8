--- The first argument is the caller's time in seconds, or '' for the server's; `args` are the rest.
-- include number: number

local given = table.remove(ARGV, 1)
local now = number(given)
if given == '' then
  local time = redis.call('TIME')
  now = time[1] + time[2] / 1000000
end
if not now then error('Arg "now" missing or not a number: ' .. tostring(given)) end
local args = ARGV
