local SEQUENCES = {
  '[\194-\223][\128-\191]', '\224[\160-\191][\128-\191]', '[\225-\236\238\239][\128-\191][\128-\191]',
  '\237[\128-\159][\128-\191]', '\240[\144-\191][\128-\191][\128-\191]',
  '[\241-\243][\128-\191][\128-\191][\128-\191]', '\244[\128-\143][\128-\191][\128-\191]',
}

--- Whether it is UTF-8: other bytes would change when read as text and sent back.
local function is_utf8(name)
  for _, sequence in ipairs(SEQUENCES) do name = string.gsub(name, sequence, ' ') end
  return not string.find(name, '[\128-\255]')
end
