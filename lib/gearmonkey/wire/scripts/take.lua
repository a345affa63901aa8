--- Functions that claim jobs. They use the tables and counts of the script.
-- include whole

--- A repeated claim of a job. Returns its token and the claim in the form of the reply.
local function claim_again(id, key, last_token, from, options)
  local job = fields(id, 'attempts', 'stalls', 'snoozes')
  local token, attempts = string.format(WHOLE, count(last_token) + 1), string.format(WHOLE, count(job[1]) + 1)
  call('HSET', key, 'status', 'busy', 'token', token, 'attempts', attempts, 'queue', from, 'started', stamp)
  return token, table.concat({ token, attempts, string.format(WHOLE, count(job[2])), string.format(WHOLE, count(job[3])), options }, ':')
end

--- The first claim of a job. The field `queue` is only written for other queues than the normal one.
local function claim_first(key, mark, from, options)
  local token = string.format(WHOLE, count(mark) + 1)
  call('HSET', key, 'status', 'busy', 'token', token, 'attempts', '1', 'started', stamp)
  if from ~= 'normal' then call('HSET', key, 'queue', from) end
  return token, options == '' and token or token .. ':1:0:0:' .. options
end

--- How long a job has waited that could have run since `time`, in ms; -1 if that is not known.
local function waited_since(time)
  local since = tonumber(time)
  return since and math.max(0, now - since) or -1
end

--- Ends a job that no worker can run.
local function refuse(id, name, code, text)
  local failure = cjson.encode({ name = name, code = code, message = text })
  finish(keys, id, stamp, '', '', 'error', text, 'error', failure)
end

--- Whether a worker of this package has this claim already, because the id was queued twice.
local function is_held(member)
  return mine[member] or call('ZSCORE', keys.leases, member)
end

--- Claims a job, or ends or drops one that can't be run. Returns its member if it was claimed. `has_turn`: it comes from
--- the list of its key.
local function take(id, from, has_turn)
  local key = keys.jobs .. id
  local job
  if limits then
    job = pcall('HMGET', key, 'status', 'input', 'token', 'options', 'mark', 'created', 'due', 'key')
  else
    job = pcall('HMGET', key, 'status', 'input', 'token', 'options', 'mark', 'created', 'due')
  end
  local status, last_token, options = job[1], job[3], job[4] or ''
  if job.err or not status or status == 'success' or status == 'error' then
    useless = useless + 1
    -- An expired job may have been ended for a client that waited for it.
    if not job.err and status == 'error' and string.find(options, EXPIRES, 1, true) then
      pcall('HSET', key, 'queued', '0')
      return
    end
    dropped[#dropped + 1] = id
    return
  end
  if status == 'busy' and last_token and is_held(id .. ':' .. last_token) then
    dropped[#dropped + 1] = id
    return
  end
  if options ~= '' and status == 'idle' and string.find(options, EXPIRES, 1, true) and expire(keys, id, now) == 0 then
    useless = useless + 1
    return
  end
  if job[8] and not has_turn then
    local is_whole, waits = guarded(limits.await_turn, job[8], limits.priority_of(from), id, last_token)
    if waits or not is_whole then
      useless = useless + 1
      return
    end
  end
  local unkeyed = files and limits and not has_turn
  if not job[5] then plain = plain + 1 end
  local input = job[2] or ''
  if not is_text(id) then return refuse(id, 'InvalidIdError', 'INVALID_ID', 'the id is not UTF-8') end
  if #input > largest then
    local text = 'The input has ' .. #input .. ' bytes, more than the limit of ' .. ARGV[6] .. '. '
    return refuse(id, 'PayloadTooLargeError', 'PAYLOAD_TOO_LARGE', text .. 'Store it elsewhere and pass a reference, or raise `maxPayloadBytes`.')
  end
  local token, claim
  local waited = last_token and -1 or waited_since(job[7] or job[6])
  if last_token then
    token, claim = claim_again(id, key, last_token, from, options)
  else
    token, claim = claim_first(key, job[5], from, options)
  end
  local member = id .. ':' .. token
  mine[member] = true
  leases[#leases + 1], leases[#leases + 2] = expiry, member
  bytes = bytes + #input
  if unkeyed then
    local last = #unfiled
    unfiled[last + 1], unfiled[last + 2], unfiled[last + 3], unfiled[last + 4] = id, claim, input, -1
    return member
  end
  pcall('PUBLISH', keys.channel, 'start:' .. id)
  local last = 4 * taken
  claims[last + 1], claims[last + 2], claims[last + 3], claims[last + 4] = id, claim, input, waited
  taken = taken + 1
  return member
end
