--- One key routes the call to its slot.
if #KEYS > 1 or (KEYS[1] and string.sub(KEYS[1], 1, 4) ~= '{ql}') then
  error('No Keys should be provided, but one that begins with {ql}')
end
