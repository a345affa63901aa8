-- Gives with_expiry

--- Options, JSON or nil, with the ms since 1970 at which the job expires.
local function with_expiry(options, time)
  local rest = (options and #options > 2) and ',' .. string.sub(options, 2) or '}'
  return '{"expires":' .. string.format('%.0f', time) .. rest
end
