--- Makes a job wait for others.
-- Gives read_parents, attach_refusal, attach
-- include calls: call, try
-- include flow-functions: note_function
-- include flow-keys: keys_of, parse_entry
-- include refusals: refusal_of
-- include unbegun: is_unbegun

--- Reads the parents of a new job, "ID:MARK:FN" each. Returns nil and the place of the first one that there is not.
--- Fails for a user who may not read one.
local function read_parents(entries)
  local parents = {}
  for i, entry in ipairs(entries) do
    local id, mark, fn = parse_entry(entry)
    local k = id and keys_of(fn)
    local job = k and try('HMGET', k.jobs .. id, 'status', 'mark', 'flow', 'settled', 'after')
    if job and job.err and not string.find(job.err, 'WRONGTYPE', 1, true) then call('HMGET', k.jobs .. id, 'status') end
    local is_there = job and not job.err and job[1] and not is_unbegun(job[5], job[3])
    if not is_there or (mark ~= '' and (job[2] or '0') ~= mark) then return nil, i end
    parents[i] = { k = k, id = id, mark = job[2] or '0', status = job[1], flow = job[3] or nil, settled = job[4] }
  end
  return parents
end

--- Returns an error reply if the user may not do what `attach` does, or a key of it has another type.
local function attach_refusal(k, id, parents)
  local refusal = #parents > 0 and refusal_of('RPUSH', k.jobs .. id .. ':parents') or nil
  for _, parent in ipairs(parents) do
    local pk, key = parent.k, parent.k.jobs .. parent.id
    refusal = refusal or refusal_of('HINCRBY HSET TTL PERSIST', key) or refusal_of('PERSIST RPUSH', key .. ':children')
      or refusal_of('PERSIST', key .. ':parents') or refusal_of('ZADD', pk.members)
    -- Neither changes anything.
    for _, reply in ipairs({ refusal or try('LLEN', key .. ':children'), refusal or try('ZADD', pk.members, 'XX', '1', 'x') }) do
      refusal = refusal or type(reply) == 'table' and reply.err and reply or nil
    end
  end
  return refusal
end

--- Returns how many jobs the new one waits for, and how one of the others failed or nil. `child` is "ID:MARK:FN".
local function attach(k, id, child, parents)
  local waits, why = 0, nil
  for _, parent in ipairs(parents) do
    local pk, key = parent.k, parent.k.jobs .. parent.id
    call('RPUSH', k.jobs .. id .. ':parents', parent.id .. ':' .. parent.mark .. ':' .. pk.fn)
    call('HINCRBY', key, 'held', '1')
    -- Either may have no worker of this package: the parent is kept until the end of this job is noticed.
    note_function(k.fn, pk.fn)
    note_function(pk.fn, k.fn)
    if parent.status == 'success' or parent.status == 'error' then
      local left = call('TTL', key)
      if left > 0 then call('HSET', key, 'kept', left) end
      -- Without its lists the hash would say how much was done of others, if it is retried.
      for _, suffix in ipairs({ '', ':children', ':parents' }) do call('PERSIST', key .. suffix) end
      if parent.status == 'error' then why = why or 'job ' .. parent.id .. ' of "' .. pk.fn .. '" did not succeed' end
    else
      waits = waits + 1
      -- By this its end is noticed: finish.lua.
      if not parent.settled then call('HSET', key, 'settled', '0') end
      call('RPUSH', key .. ':children', child)
      -- Of a job that had ended and was retried it may expire.
      call('PERSIST', key .. ':children')
      call('ZADD', pk.members, 'NX', '1', parent.id)
    end
  end
  return waits, why
end
