--- Puts a job back at the front of its queue, which is the end that workers pop. If that key has another type, another
--- queue gets the job. Returns false and writes nothing if no queue can take it.
local function requeue(keys, id, from, ...)
  local function queued(queue)
    local reply
    if queue == 'scheduled' then
      reply = redis.pcall('ZADD', keys.scheduled, '0', id)
    else
      reply = redis.pcall('RPUSH', keys[queue], id)
    end
    return type(reply) == 'number'
  end

  local known = from == 'high' or from == 'low' or from == 'scheduled'
  if not (queued(known and from or 'normal') or queued('normal') or queued('high') or queued('low') or queued('scheduled')) then
    return false
  end
  redis.call('HSET', keys.jobs .. id, 'status', 'idle', ...)
  if redis.call('EXISTS', keys.wake) == 0 then redis.call('LPUSH', keys.wake, '1') end
  return true
end

--- Sorts newest first: put back at the front in this order, the oldest ends up in front.
local function newest_first(a, b)
  return (tonumber(string.match(a, '^(%d+):')) or 0) > (tonumber(string.match(b, '^(%d+):')) or 0)
end
