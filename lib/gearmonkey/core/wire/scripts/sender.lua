-- Gives reserve_ids
-- include calls: call, try
-- include whole: WHOLE

--- Reserves ids for `count` jobs, and remembers the call for its sender. Returns the last id and what was remembered
--- before; or nil, nil and the reply if this call creates nothing: the last id of the earlier call if it was sent before, or an
--- error.
local function reserve_ids(ids, count, sender, number, memory)
  local last = try('INCRBY', ids, count)
  if type(last) == 'table' then
    -- include sent: earlier_reply -- at the head it would cost each call
    return nil, nil, earlier_reply(sender, number, memory) or last
  end
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
