--- Wakes up to `count` of those that wait for the queue: each has left a token in the idle list, and blocks on
--- the other one.
local function wake(queue, count)
  for _ = 1, count do
    if not redis.call('LMOVE', ql .. 'idle:' .. queue, ql .. 'wake:' .. queue, 'LEFT', 'LEFT') then return end
  end
end
