-- include json: json

local NUMBERS = { '^%-?0$', '^%-?[1-9]%d*$', '^%-?0%.%d+$', '^%-?[1-9]%d*%.%d+$' }

local function is_standard(token)
  if token == 'true' or token == 'false' or token == 'null' then return true end
  for _, pattern in ipairs(NUMBERS) do
    if string.find(token, pattern) then return true end
  end
  return false
end

--- What is left of JSON without its strings; a quote or a backslash where a string has a raw control character, or
--- an escape for a plain letter, under which a name would not be recognised.
local function without_strings(text)
  local bare = string.gsub(text, '\\["\\/bfnrt]', '')
  if not string.find(bare, '\\u00[0-7]') then bare = string.gsub(bare, '\\u%x%x%x%x', '') end
  return (string.gsub(bare, '"[^"\\%c]*"', ''))
end

--- The JSON as any parser takes it, or nil where there is none: cjson also decodes NaN, 0x10, 01, +1 and raw control
--- characters. What is sound stays byte for byte as it is.
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
