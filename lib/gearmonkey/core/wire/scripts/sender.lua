-- Gives reserve_ids
-- include calls: call
-- include whole: WHOLE

--- Reserves ids for `count` jobs, and remembers the call for its sender. Returns the last id and what was remembered
--- before; or nil, nil and the last id of the earlier call if this one was sent before: it creates nothing.
local function reserve_ids(ids, count, sender, number, memory)
  local last = call('INCRBY', ids, count)
  local known = call('SET', sender, number .. ':' .. string.format(WHOLE, last), 'EX', memory, 'GET')
  if known then
    local known_number, known_last = string.match(known, '^(%d+):(%d+)')
    if tonumber(known_number) >= tonumber(number) then
      -- This write makes a following WAIT cover the earlier call as well.
      call('SET', sender, known, 'EX', memory)
      call('DECRBY', ids, count)
      return nil, nil, tonumber(known_last)
    end
  end
  return last, known
end
