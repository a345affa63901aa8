-- Gives clock
-- include calls: call

--- Returns `given`, or the server's clock in ms if `given` is ''.
local function clock(given)
  if given ~= '' then return tonumber(given) end
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
