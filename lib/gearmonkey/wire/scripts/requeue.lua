--- Puts a job back to the front of the queue it came from: the end that workers pop. Where a key of another type
--- is in its place, to another. False, and nothing is written, if none takes it.
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

--- Each goes before the one before it, so that the oldest is in front in the end.
local function newest_first(a, b)
  return (tonumber(string.match(a, '^(%d+):')) or 0) > (tonumber(string.match(b, '^(%d+):')) or 0)
end
