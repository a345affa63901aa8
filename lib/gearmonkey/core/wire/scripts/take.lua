--- Claims jobs. `turn` is that of claim.lua.
-- Gives take
-- include calls: call, try
-- include expiry: EXPIRES, expire
-- include fields: fields
-- include finish: finish
-- include foreign: count, is_text
-- include whole: WHOLE

--- A repeated claim of a job. Returns its token and the claim in the form of the reply.
local function claim_again(turn, id, key, last_token, from, options)
  local job = fields(turn.keys.jobs, id, 'attempts', 'stalls', 'snoozes')
  local token, attempts = string.format(WHOLE, count(last_token) + 1), string.format(WHOLE, count(job[1]) + 1)
  call('HSET', key, 'status', 'busy', 'token', token, 'attempts', attempts, 'queue', from, 'started', turn.stamp)
  return token, table.concat({ token, attempts, string.format(WHOLE, count(job[2])), string.format(WHOLE, count(job[3])), options }, ':')
end

--- The first claim of a job. The field `queue` is only written for other queues than the normal one.
local function claim_first(turn, key, mark, from, options)
  local token = string.format(WHOLE, count(mark) + 1)
  call('HSET', key, 'status', 'busy', 'token', token, 'attempts', '1', 'started', turn.stamp)
  if from ~= 'normal' then call('HSET', key, 'queue', from) end
  return token, options == '' and token or token .. ':1:0:0:' .. options
end

--- How long a job has waited that could have run since `time`, in ms; -1 if that is not known.
local function waited_since(now, time)
  local since = tonumber(time)
  return since and math.max(0, now - since) or -1
end

--- Ends a job that no worker can run.
local function refuse(turn, id, name, code, text)
  local failure = cjson.encode({ name = name, code = code, message = text })
  finish(turn.keys, id, turn.stamp, '', '', 'error', text, 'error', failure)
end

--- Whether a worker of this package has this claim already, because the id was queued twice.
local function is_held(turn, member)
  return turn.mine[member] or try('ZSCORE', turn.keys.leases, member)
end

--- Claims a job, or ends or drops one that can't be run. Returns its member if it was claimed. `has_turn`: it comes from
--- the list of its key.
local function take(turn, id, from, has_turn)
  local keys, hooks, claims = turn.keys, turn.hooks, turn.claims
  local key = keys.jobs .. id
  local job
  if hooks then
    job = try('HMGET', key, 'status', 'input', 'token', 'options', 'mark', 'created', 'due', 'key')
  else
    job = try('HMGET', key, 'status', 'input', 'token', 'options', 'mark', 'created', 'due')
  end
  local status, last_token, options = job[1], job[3], job[4] or ''
  if job.err or not status or status == 'success' or status == 'error' then
    turn.useless = turn.useless + 1
    -- An expired job may have been ended for a client that waited for it.
    if not job.err and status == 'error' and string.find(options, EXPIRES, 1, true) then
      try('HSET', key, 'queued', '0')
      return
    end
    turn.dropped[#turn.dropped + 1] = id
    return
  end
  if status == 'busy' and last_token and is_held(turn, id .. ':' .. last_token) then
    turn.dropped[#turn.dropped + 1] = id
    return
  end
  if options ~= '' and status == 'idle' and string.find(options, EXPIRES, 1, true) and expire(keys, id, turn.now) == 0 then
    turn.useless = turn.useless + 1
    return
  end
  if hooks and not has_turn then
    claims = hooks.admit(id, from, last_token, job[8])
    if not claims then
      turn.useless = turn.useless + 1
      return
    end
  end
  if not job[5] then turn.plain = turn.plain + 1 end
  local input = job[2] or ''
  if not is_text(id) then return refuse(turn, id, 'InvalidIdError', 'INVALID_ID', 'the id is not UTF-8') end
  if #input > turn.largest then
    local text = 'The input has ' .. #input .. ' bytes, more than the limit of ' .. string.format('%.0f', turn.largest) .. '. '
    return refuse(turn, id, 'PayloadTooLargeError', 'PAYLOAD_TOO_LARGE', text .. 'Store it elsewhere and pass a reference, or raise `maxPayloadBytes`.')
  end
  local token, claim
  local waited = last_token and -1 or waited_since(turn.now, job[7] or job[6])
  if last_token then
    token, claim = claim_again(turn, id, key, last_token, from, options)
  else
    token, claim = claim_first(turn, key, job[5], from, options)
  end
  local member = id .. ':' .. token
  local leases = turn.leases
  turn.mine[member] = true
  leases[#leases + 1], leases[#leases + 2] = turn.lease_end, member
  turn.bytes = turn.bytes + #input
  if claims ~= turn.claims then
    -- One that only gets its key uses no slot.
    local last = #claims
    claims[last + 1], claims[last + 2], claims[last + 3], claims[last + 4] = id, claim, input, -1
    return member
  end
  try('PUBLISH', keys.channel, 'start:' .. id)
  local last = 4 * turn.taken
  claims[last + 1], claims[last + 2], claims[last + 3], claims[last + 4] = id, claim, input, waited
  turn.taken = turn.taken + 1
  return member
end
