--- Wakes up to `count` of those that wait for the queue: each has left a token in the idle list, and blocks on
--- the other one.
local function wake(queue, count)
  for _ = 1, count do
    if not redis.call('LMOVE', ql .. 'idle:' .. queue, ql .. 'wake:' .. queue, 'LEFT', 'LEFT') then return end
  end
end

--- Higher priority first, then earlier.
local function add_work(queue, priority, when, jid)
  redis.call('ZADD', ql .. 'q:' .. queue .. '-work', priority - when / 10000000000, jid)
  wake(queue, 1)
end

--- Queues are known by when they were first seen.
local function know_queue(queue, now) redis.call('ZADD', ql .. 'queues', 'NX', now, queue) end
