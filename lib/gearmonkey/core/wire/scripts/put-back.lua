-- Gives put_back
-- include calls: call, try

--- Puts popped ids back, from `first` on, so that they keep their order. Returns true: the queue has more. `due` gets them if the
--- queue can't, since its right may have been revoked.
local function put_back(queue, ids, first, due)
  local back = {}
  for i = #ids, first, -1 do back[#back + 1] = ids[i] end
  if type(try('RPUSH', queue, unpack(back))) ~= 'number' then
    for _, id in ipairs(back) do call('ZADD', due, '0', id) end
  end
  return true
end
