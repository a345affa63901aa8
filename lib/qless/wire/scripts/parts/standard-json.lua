-- include json: json

local NUMBERS = { '^%-?0$', '^%-?[1-9]%d*$', '^%-?0%.%d+$', '^%-?[1-9]%d*%.%d+$' }

local function is_standard(token)
  if token == 'true' or token == 'false' or token == 'null' then return true end
  for _, pattern in ipairs(NUMBERS) do
    if string.find(token, pattern) then return true end
  end
  return false
end

--- JSON without its strings; a quote or a backslash where a string has a raw control character, or
--- an escape for a plain letter, under which a name would not be recognised.
local function without_strings(text)
  local bare = string.gsub(text, '\\["\\/bfnrt]', '')
  if not string.find(bare, '\\u00[0-7]') then bare = string.gsub(bare, '\\u%x%x%x%x', '') end
  return (string.gsub(bare, '"[^"\\%c]*"', ''))
end

--- The text as JSON that any parser takes, or nil: cjson also decodes NaN, 0x10, 01, +1 and raw control characters. JSON
--- that is valid is returned byte for byte.
local function standard_json(text)
  local value = json(text)
  if value == nil then return nil end
  local bare = without_strings(text)
  local good = not string.find(bare, '["\\]')
  for token in string.gmatch(bare, '[^%s{}%[%]:,]+') do
    good = good and is_standard(token)
  end
  if good then return text end
  local encoded, again = pcall(cjson.encode, value)
  return encoded and again or nil
end
