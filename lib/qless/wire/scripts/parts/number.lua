--- A finite number, or nil.
local function number(text)
  local value = tonumber(text)
  if value and value - value == 0 then return value end
  return nil
end
