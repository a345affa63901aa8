-- Gives count, is_text

--- Reads a count. Text that is no number was written by another program and counts as 0.
local function count(value)
  local number = tonumber(value or 0)
  return number and number >= 0 and number < 2 ^ 53 and math.floor(number) or 0
end

--- Whether these bytes are UTF-8.
local function is_text(bytes)
  if not string.find(bytes, '[\128-\255]') then return true end
  --- Valid UTF-8 sequences beyond ASCII: no overlong forms, no surrogates, nothing above U+10FFFF.
  local SEQUENCES = {
    '[\194-\223][\128-\191]', '\224[\160-\191][\128-\191]', '[\225-\236\238\239][\128-\191][\128-\191]',
    '\237[\128-\159][\128-\191]', '\240[\144-\191][\128-\191][\128-\191]',
    '[\241-\243][\128-\191][\128-\191][\128-\191]', '\244[\128-\143][\128-\191][\128-\191]',
  }
  for _, sequence in ipairs(SEQUENCES) do bytes = string.gsub(bytes, sequence, '.') end
  return not string.find(bytes, '[\128-\255]')
end
