--- Ends a job as the protocol's worker does, and tells everybody who waits.
local function finish(keys, id, now, status, output, ...)
  redis.call('HSET', keys.jobs .. id, 'status', status, 'output', output, 'finished', now, ...)
  redis.call('EXPIRE', keys.jobs .. id, 90000)
  redis.call('PUBLISH', keys.channel, 'finish:' .. id)
  redis.call('LPUSH', keys.locks .. id, 'OK')
  redis.call('EXPIRE', keys.locks .. id, 10)
end
