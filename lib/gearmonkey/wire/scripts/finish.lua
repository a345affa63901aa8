-- include refuses-writes

--- Notes the end of a job that others wait for or that belongs to a flow: settle-flows.lua does the rest, and the hash is
--- kept until then.
local function note_end(keys, id, seconds)
  local members = 'queue:' .. string.sub(keys.jobs, 5, -2) .. ':flows'
  if keys.has_flows == nil then keys.has_flows = redis.pcall('EXISTS', members) == 1 end
  if not keys.has_flows or redis.pcall('ZADD', members, 'XX', 'CH', '2', id) ~= 1 then return end
  keys.ended_in_flow = true
  redis.pcall('HSET', keys.jobs .. id, 'kept', seconds)
  redis.pcall('PERSIST', keys.jobs .. id)
end

--- Whether this is the first outcome of a claim of a job of no flow, by how many fields were new with it. Jobs that others
--- wait for, or that belong to a flow, have the field `settled` before. So all other jobs cost no command.
local function is_of_no_flow(added, field, ...)
  return field == 'settled' and added == 2 + (1 + select('#', ...)) / 2
end

--- Ends a job as the protocol's worker does, publishes it and lists it. `outcome` is success, error or cancelled. The
--- channel `reply`, unless '', gets "id:token:output". Returns false if the job's key is no hash. After the first write no
--- error may stop the rest; a server that takes no writes refuses the first. `keys` may have the seconds for which ended jobs
--- and their lists are kept, and `successes`, which gets the times and ids of these in place of their list: the hot path,
--- where one command lists all of a call.
local function finish(keys, id, now, reply, token, outcome, output, ...)
  local success = outcome == 'success'
  local status = success and outcome or 'error'
  local written = redis.pcall('HSET', keys.jobs .. id, 'status', status, 'output', output, 'finished', now, ...)
  if type(written) == 'table' and written.err then
    if refuses_writes(written) then redis.call('HSET', keys.jobs .. id, 'status', status) end
    return false
  end
  local seconds = success and keys.success_seconds or not success and keys.error_seconds or '90000'
  redis.call('EXPIRE', keys.jobs .. id, seconds)
  if not is_of_no_flow(written, ...) then note_end(keys, id, seconds) end
  local successes = success and keys.successes
  -- The member '' says how long the jobs of the list are kept.
  if successes and id ~= '' then
    successes[#successes + 1], successes[#successes + 2] = now, id
  elseif not successes then
    -- Keys are derived from that of the job, "job:FN:".
    local list = 'ended:' .. string.sub(keys.jobs, 5) .. (outcome == 'error' and 'failed' or outcome)
    if id ~= '' then redis.pcall('ZADD', list, now, id) end
    redis.pcall('EXPIRE', list, keys.list_seconds or '93600')
  end
  if outcome == 'cancelled' then
    redis.pcall('HSET', keys.jobs .. id, 'cancelled', '1')
    redis.pcall('ZREM', 'retrying:' .. string.sub(keys.jobs, 5, -2), id)
  end
  if reply ~= '' then redis.pcall('PUBLISH', reply, id .. ':' .. token .. ':' .. output) end
  redis.pcall('PUBLISH', keys.channel, 'finish:' .. id)
  redis.pcall('LPUSH', keys.locks .. id, 'OK')
  redis.pcall('EXPIRE', keys.locks .. id, '10')
  return true
end
