--- Tokens of a dead waiter expire, and so do wake-ups that no waiter took.
local TOKEN_SECONDS = 10

--- Wakes up to `count` of those that wait for the queue: each has a token in the idle set, and blocks on the list.
--- (An earlier version had tokens in a list, `idle:QUEUE`: its waiters poll.)
local function wake(queue, count)
  for _ = 1, count do
    if not redis.call('ZPOPMAX', prefix .. 'idlers:' .. queue)[1] then return end
    redis.call('RPUSH', prefix .. 'wake:' .. queue, '1')
    redis.call('EXPIRE', prefix .. 'wake:' .. queue, TOKEN_SECONDS)
  end
end
