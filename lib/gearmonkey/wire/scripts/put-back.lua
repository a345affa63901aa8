-- Gives put_back
-- include calls: call

--- Puts popped ids back, from `first` on, so that they keep their order. Returns true: the queue has more.
local function put_back(queue, ids, first)
  local back = {}
  for i = #ids, first, -1 do back[#back + 1] = ids[i] end
  call('RPUSH', queue, unpack(back))
  return true
end
