--- Ends a job as the protocol's worker does, and tells everybody who waits; the channel `reply`, if it isn't '',
--- gets "id:token:output" itself. False when its key is no hash. Once that is written, nothing else may fail it.
local function finish(keys, id, now, reply, token, status, output, ...)
  local written = redis.pcall('HSET', keys.jobs .. id, 'status', status, 'output', output, 'finished', now, ...)
  if type(written) == 'table' and written.err then return false end
  redis.call('EXPIRE', keys.jobs .. id, '90000')
  if reply ~= '' then redis.pcall('PUBLISH', reply, id .. ':' .. token .. ':' .. output) end
  redis.pcall('PUBLISH', keys.channel, 'finish:' .. id)
  redis.pcall('LPUSH', keys.locks .. id, 'OK')
  redis.pcall('EXPIRE', keys.locks .. id, '10')
  return true
end
