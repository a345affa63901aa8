--- Tokens of a dead waiter expire, and so do wake-ups that no waiter took.
local TOKEN_SECONDS = 10

--- Wakes up to `count` of those that wait for the queue: each has a token in the idle set, and blocks on the list. That
--- stops no call: one who isn't woken looks again within a second.
--- (An earlier version had tokens in a list, `idle:QUEUE`: its waiters poll.)
local function wake(queue, count)
  for _ = 1, count do
    if not redis.pcall('ZPOPMAX', prefix .. 'idlers:' .. queue)[1] then return end
    redis.pcall('RPUSH', prefix .. 'wake:' .. queue, '1')
    redis.pcall('EXPIRE', prefix .. 'wake:' .. queue, TOKEN_SECONDS)
  end
end
