--- The decoded JSON, or nil if it is invalid.
local function json(text)
  local good, value = pcall(cjson.decode, text)
  if good then return value end
  return nil
end

--- A string as JSON.
local quote = cjson.encode
