-- include wake-ups: wake

--- Higher priority first, then earlier.
local function add_work(queue, priority, when, jid)
  redis.call('ZADD', prefix .. 'q:' .. queue .. '-work', priority - when / 10000000000, jid)
  wake(queue, 1)
end

--- Records when the queue was first seen.
local function add_queue(queue, now) redis.call('ZADD', prefix .. 'queues', 'NX', now, queue) end
