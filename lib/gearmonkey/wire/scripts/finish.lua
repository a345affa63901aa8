--- Ends a job as the protocol's worker does and publishes it. The channel `reply`, unless '', gets "id:token:output".
--- Returns false if the job's key is no hash. After the first write no error may stop the rest.
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
