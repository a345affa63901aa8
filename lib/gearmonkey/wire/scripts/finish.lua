--- Ends a job as the protocol's worker does, publishes it and lists it. `outcome` is success, error or cancelled. The
--- channel `reply`, unless '', gets "id:token:output". Returns false if the job's key is no hash. After the first write no
--- error may stop the rest. `keys` may have the seconds for which ended jobs and their lists are kept.
local function finish(keys, id, now, reply, token, outcome, output, ...)
  local success = outcome == 'success'
  local status = success and outcome or 'error'
  local written = redis.pcall('HSET', keys.jobs .. id, 'status', status, 'output', output, 'finished', now, ...)
  if type(written) == 'table' and written.err then return false end
  redis.call('EXPIRE', keys.jobs .. id, success and keys.success_seconds or not success and keys.error_seconds or '90000')
  -- Keys are derived from that of the job, "job:FN:".
  local list = 'ended:' .. string.sub(keys.jobs, 5) .. (outcome == 'error' and 'failed' or outcome)
  -- The member '' says how long the jobs of the list are kept.
  if id ~= '' then redis.pcall('ZADD', list, now, id) end
  -- Success is the hot path: that list gets its time once in many calls.
  if not success then redis.pcall('EXPIRE', list, keys.list_seconds or '93600') end
  if outcome == 'cancelled' then redis.pcall('ZREM', 'retrying:' .. string.sub(keys.jobs, 5, -2), id) end
  if reply ~= '' then redis.pcall('PUBLISH', reply, id .. ':' .. token .. ':' .. output) end
  redis.pcall('PUBLISH', keys.channel, 'finish:' .. id)
  redis.pcall('LPUSH', keys.locks .. id, 'OK')
  redis.pcall('EXPIRE', keys.locks .. id, '10')
  return true
end
