-- Gives finish
-- include calls: call, try
-- include refuses-writes: refuses_writes

--- Notes the end of a job that others wait for or that belongs to a flow: settle-flows.lua does the rest, and the hash is
--- kept until then.
local function note_end(keys, id, seconds)
  local members = 'queue:' .. string.sub(keys.jobs, 5, -2) .. ':flows'
  if keys.has_flows == nil then keys.has_flows = try('EXISTS', members) == 1 end
  if not keys.has_flows then return end
  local is_member = try('ZADD', members, 'XX', 'CH', '2', id) == 1
  keys.ended_in_flow = keys.ended_in_flow or is_member
  -- One that had been settled, and was retried, is no member; but jobs that wait may still read its output.
  if not is_member and not string.find(try('HMGET', keys.jobs .. id, 'held')[1] or '', '^[1-9]') then return end
  try('HSET', keys.jobs .. id, 'kept', seconds)
  try('PERSIST', keys.jobs .. id)
end

--- Ends a job as the protocol's worker does, publishes it and lists it. `outcome` is success, error or cancelled. The
--- channel `reply`, unless '', gets "id:token:output". Returns false if the job's key is no hash. After the first write no
--- error may stop the rest; a server that takes no writes refuses the first. `keys` may have the seconds for which ended jobs
--- and their lists are kept, and `successes`, which gets the times and ids of these in place of their list: the hot path,
--- where one command lists all of a call.
local function finish(keys, id, now, reply, token, outcome, output, ...)
  local success = outcome == 'success'
  local status = success and outcome or 'error'
  local written = try('HSET', keys.jobs .. id, 'status', status, 'output', output, 'finished', now, ...)
  if type(written) == 'table' and written.err then
    if refuses_writes(written) then call('HSET', keys.jobs .. id, 'status', status) end
    return false
  end
  local seconds = success and keys.success_seconds or not success and keys.error_seconds or '90000'
  call('EXPIRE', keys.jobs .. id, seconds)
  -- The first outcome of a claim of a job of no flow, by how many fields were new with it: it costs no command. Jobs that others
  -- wait for, or that belong to a flow, have the field `settled` before.
  local is_of_no_flow = (...) == 'settled' and written == 2 + select('#', ...) / 2
  if not is_of_no_flow then note_end(keys, id, seconds) end
  local successes = success and keys.successes
  -- The member '' says how long the jobs of the list are kept.
  if successes and id ~= '' then
    successes[#successes + 1], successes[#successes + 2] = now, id
  elseif not successes then
    -- Keys are derived from that of the job, "job:FN:".
    local list = 'ended:' .. string.sub(keys.jobs, 5) .. (outcome == 'error' and 'failed' or outcome)
    if id ~= '' then try('ZADD', list, now, id) end
    try('EXPIRE', list, keys.list_seconds or '93600')
  end
  if outcome == 'cancelled' then
    try('HSET', keys.jobs .. id, 'cancelled', '1')
    try('ZREM', 'retrying:' .. string.sub(keys.jobs, 5, -2), id)
  end
  if reply ~= '' then try('PUBLISH', reply, id .. ':' .. token .. ':' .. output) end
  try('PUBLISH', keys.channel, 'finish:' .. id)
  try('LPUSH', keys.locks .. id, 'OK')
  try('EXPIRE', keys.locks .. id, '10')
  return true
end
