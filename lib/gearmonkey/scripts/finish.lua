--- Ends a job as the protocol's worker does, and tells everybody who waits. False when its key is no hash.
local function finish(keys, id, now, status, output, ...)
  local written = redis.pcall('HSET', keys.jobs .. id, 'status', status, 'output', output, 'finished', now, ...)
  if type(written) == 'table' and written.err then return false end
  redis.call('EXPIRE', keys.jobs .. id, 90000)
  redis.call('PUBLISH', keys.channel, 'finish:' .. id)
  redis.call('LPUSH', keys.locks .. id, 'OK')
  redis.call('EXPIRE', keys.locks .. id, 10)
  return true
end
