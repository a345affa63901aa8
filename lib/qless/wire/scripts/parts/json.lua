--- What the JSON says, or nil where it is none.
local function json(text)
  local good, value = pcall(cjson.decode, text)
  if good then return value end
  return nil
end

--- A string as JSON.
local quote = cjson.encode
