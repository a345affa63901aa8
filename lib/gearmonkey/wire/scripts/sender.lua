-- Reserves ids for `count` jobs, and remembers the call for its sender: `last` is the last id, `known` what was
-- remembered before. A call that was sent before creates nothing and returns the same.
local last = call('INCRBY', ids, count)
local known = call('SET', sender, number .. ':' .. string.format('%.0f', last), 'EX', memory, 'GET')
if known then
  local known_number, known_last = string.match(known, '^(%d+):(%d+)')
  if tonumber(known_number) >= tonumber(number) then
    -- This write makes a following WAIT cover the earlier call as well.
    call('SET', sender, known, 'EX', memory)
    call('DECRBY', ids, count)
    return tonumber(known_last)
  end
end
