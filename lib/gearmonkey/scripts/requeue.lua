--- Puts a job back to the front of the queue it came from: the end that workers pop.
local function requeue(keys, id, from, ...)
  redis.call('HSET', keys.jobs .. id, 'status', 'idle', ...)
  if from == 'scheduled' then
    redis.call('ZADD', keys.scheduled, 0, id)
  else
    redis.call('RPUSH', keys[from] or keys.normal, id)
  end
  if redis.call('EXISTS', keys.wake) == 0 then redis.call('LPUSH', keys.wake, '1') end
end
