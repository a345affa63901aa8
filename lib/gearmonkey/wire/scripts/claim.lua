--[[
  A worker's round trip: writes outcomes, recovers expired jobs, and claims jobs for the free slots.

  KEYS[1] prefix of the job hashes   KEYS[2] prefix of the locks   KEYS[3] leases   KEYS[4] scheduled
  KEYS[5] high   KEYS[6] normal   KEYS[7] low   KEYS[8] wake marker   KEYS[9] channel
  KEYS[10] control hash
  KEYS[11] optional: gets the claims as a JSON list of "id:token", in case the worker never gets the reply
  ARGV[1] now in ms, or ''   ARGV[2] length of a lease in ms   ARGV[3] free slots   ARGV[4] stalls allowed
  ARGV[5] 1 to recover expired jobs   ARGV[6] largest input in bytes   ARGV[7…] outcomes, four each: "id:token", then
    'success', output, a channel that gets "id:token:output" or ''
    'error', message, error as JSON
    'retry', ms to wait, error as JSON
    'snoozed', ms to wait, ''
    'released', '', ''
  Returns { refused "id:token" …}, { id, claim, input … }, { dropped id … }, ms until the next scheduled job is due
  (-1 if there is none or the function is paused, 0 if no slot is left), and how many claimed jobs came from plain clients. `claim` is
  "token:attempts:stalls:snoozes:options", or only "token" for "token:1:0:0:".

  A lease is the member "id:token" with the time it expires. The first token is the job's mark plus 1, and each claim
  adds 1, including claims that were released. Another job that gets the same id after a failover therefore has
  different tokens. Commands that may fail on foreign data or for a missing right run before anything is taken, or with
  pcall, so that no job is lost.

  Claiming stops when the inputs add up to a mebibyte: the reply must arrive before its leases end.

  This is the hot path: one command serves a whole batch where possible, and numbers are passed as strings, because
  Redis would otherwise format each of them.
]]
-- include clock
-- include finish
-- include foreign
-- include expiry
-- include put-back
-- include queues
-- include requeue
-- include rights

local call, pcall = redis.call, redis.pcall
-- Shortcut after a blocking call that ended without a job, which is the usual case of an idle worker.
if KEYS[11] and #ARGV < 7 and call('EXISTS', unpack(KEYS, 3, 7)) == 0 then return { {}, {}, {}, -1, 0 } end
local now = clock(ARGV[1])
local lease, slots, max_stalls = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local keys = {
  jobs = KEYS[1], locks = KEYS[2], leases = KEYS[3], scheduled = KEYS[4],
  high = KEYS[5], normal = KEYS[6], low = KEYS[7], wake = KEYS[8], channel = KEYS[9],
}
local largest, outcomes_from = tonumber(ARGV[6]), 7
local MAX_BYTES = 1048576
--- How many jobs that can't be run one call ends or drops: more would block the server.
local MAX_USELESS = 1000
--- In the options of a job that expires.
local EXPIRES = '"expires":'
local stamp, expiry = string.format('%.0f', now), string.format('%.0f', now + lease)
local refused, claims, dropped, leases = {}, {}, {}, {}
local taken, plain, bytes, useless = 0, 0, 0, 0
--- Members that this call took, and whether the key of leases is known to be a sorted set.
local mine, has_leases = {}, false

--- Fields of a job; empty if its key is no hash.
local function fields(id, ...)
  local job = pcall('HMGET', keys.jobs .. id, ...)
  return job.err and {} or job
end

-- include outcomes

--- Removes the leases of all outcomes with one command. Only if some were missing, it checks for each job whether this
--- claim still holds it. An accepted outcome is accepted again if it is sent again after a lost reply.
local function settle()
  local members = {}
  for i = outcomes_from, #ARGV, 4 do members[#members + 1] = ARGV[i] end
  if #members == 0 then return end
  local removed = pcall('ZREM', keys.leases, unpack(members))
  has_leases = type(removed) == 'number'
  local all_held = removed == #members
  for i = outcomes_from, #ARGV, 4 do
    local id, token = string.match(ARGV[i], '^(.*):(%d+)$')
    local job = all_held or fields(id, 'status', 'token', 'settled', 'lost')
    local known = not all_held and job[3] == token
    local accepted = known or all_held or (job[1] == 'busy' and job[2] == token and job[4] ~= token)
    if accepted and not known then accepted = accept(id, token, ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end
    if not accepted then refused[#refused + 1] = ARGV[i] end
  end
end

local function recover(member)
  call('ZREM', keys.leases, member)
  local id, token = string.match(member, '^(.*):(%d+)$')
  if not id then return end
  local job = fields(id, 'status', 'token', 'queue', 'stalls')
  if job[1] ~= 'busy' or job[2] ~= token then return end
  local stalls = count(job[4]) + 1
  if stalls <= max_stalls then
    -- `lost` makes this token invalid even if a plain worker, which writes no token, takes the job next.
    if not requeue(keys, id, job[3], 'stalls', stalls, 'lost', token) then keep(id, token) end
  else
    local text = 'stalled: the worker died or lost its lease ' .. stalls .. ' times'
    local failure = cjson.encode({ name = 'JobStalledError', code = 'JOB_STALLED', message = text })
    finish(keys, id, stamp, '', '', 'error', text, 'stalls', stalls, 'error', failure)
  end
end

--- A repeated claim of a job. Returns its token and the claim in the form of the reply.
local function claim_again(id, key, last_token, from, options)
  local job = fields(id, 'attempts', 'stalls', 'snoozes')
  local token, attempts = string.format('%.0f', count(last_token) + 1), string.format('%.0f', count(job[1]) + 1)
  call('HSET', key, 'status', 'busy', 'token', token, 'attempts', attempts, 'queue', from, 'started', stamp)
  return token, table.concat({ token, attempts, string.format('%.0f', count(job[2])), string.format('%.0f', count(job[3])), options }, ':')
end

--- The first claim of a job. The field `queue` is only written for other queues than the normal one.
local function claim_first(key, mark, from, options)
  local token = string.format('%.0f', count(mark) + 1)
  call('HSET', key, 'status', 'busy', 'token', token, 'attempts', '1', 'started', stamp)
  if from ~= 'normal' then call('HSET', key, 'queue', from) end
  return token, options == '' and token or token .. ':1:0:0:' .. options
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

local function take(id, from)
  local key = keys.jobs .. id
  local job = pcall('HMGET', key, 'status', 'input', 'token', 'options', 'mark')
  local status, last_token, options = job[1], job[3], job[4] or ''
  if job.err or not status or status == 'success' or status == 'error' then
    useless = useless + 1
    -- An expired job may have been ended for a client that waited for it.
    if not job.err and status == 'error' and string.find(options, EXPIRES, 1, true) then return end
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
  if not job[5] then plain = plain + 1 end
  local input = job[2] or ''
  if not is_text(id) then return refuse(id, 'InvalidIdError', 'INVALID_ID', 'the id is not UTF-8') end
  if #input > largest then
    local text = 'The input has ' .. #input .. ' bytes, more than the limit of ' .. ARGV[6] .. '. '
    return refuse(id, 'PayloadTooLargeError', 'PAYLOAD_TOO_LARGE', text .. 'Store it elsewhere and pass a reference, or raise `maxPayloadBytes`.')
  end
  local token, claim
  if last_token then
    token, claim = claim_again(id, key, last_token, from, options)
  else
    token, claim = claim_first(key, job[5], from, options)
  end
  pcall('PUBLISH', keys.channel, 'start:' .. id)
  local member = id .. ':' .. token
  mine[member] = true
  leases[2 * taken + 1], leases[2 * taken + 2] = expiry, member
  claims[3 * taken + 1], claims[3 * taken + 2], claims[3 * taken + 3] = id, claim, input
  taken, bytes = taken + 1, bytes + #input
end

local function has_room()
  return taken < slots and bytes < MAX_BYTES and useless < MAX_USELESS
end

local function take_due()
  local ids = call('ZRANGEBYSCORE', keys.scheduled, '0', now / 1000, 'LIMIT', '0', slots - taken)
  local last = 0
  while last < #ids and has_room() do
    last = last + 1
    take(ids[last], 'scheduled')
  end
  if last > 0 then call('ZREM', keys.scheduled, unpack(ids, 1, last)) end
end

--- Dropped ids use no slot, so a queue is popped until it is empty or no slot is left. Returns whether it may have more.
local function take_from(queue)
  while has_room() do
    local asked = slots - taken
    local ids = pcall('RPOP', keys[queue], asked)
    if not ids or ids.err then return false end
    for i, id in ipairs(ids) do
      if not has_room() then return put_back(keys[queue], ids, i) end
      take(id, queue)
    end
    if #ids < asked then return false end
  end
  return true
end

local function note(key)
  local members = {}
  for i = 2, #leases, 2 do members[#members + 1] = leases[i] end
  pcall('SET', key, cjson.encode(members), 'PX', string.format('%.0f', math.ceil(lease)))
end

--- Claims jobs for the free slots, and sets the wake marker if jobs are left. Returns ms until the next one is due.
local function claim()
  -- Fails here if the key has another type: later, popped jobs would be lost.
  if not has_leases then call('ZCARD', keys.leases) end
  local wait = next_due(keys.scheduled, now)
  while wait == 0 and has_room() do
    take_due()
    wait = next_due(keys.scheduled, now)
  end
  local left = {}
  for _, queue in ipairs({ 'high', 'normal', 'low' }) do
    if take_from(queue) then left[#left + 1] = keys[queue] end
  end
  if taken > 0 then call('ZADD', keys.leases, unpack(leases)) end
  if taken > 0 and KEYS[11] then note(KEYS[11]) end
  if has_room() then return wait end
  if call('EXISTS', keys.wake) == 0 and (wait == 0 or (#left > 0 and call('EXISTS', unpack(left)) > 0)) then
    call('LPUSH', keys.wake, '1')
  end
  return 0
end

local refusal = missing_right({ 'HMGET', 'HSET', 'EXPIRE' }, keys.jobs .. 'x') or missing_right({ 'ZADD' }, keys.leases)
if refusal then return refusal end
settle()
if ARGV[5] == '1' then
  local expired = call('ZRANGEBYSCORE', keys.leases, '-inf', stamp, 'LIMIT', '0', '100')
  table.sort(expired, newest_first)
  has_leases = true
  for _, member in ipairs(expired) do recover(member) end
end
if slots == 0 then return { refused, claims, dropped, 0, 0 } end
local control = pcall('HMGET', KEYS[10], 'paused')
if control[1] then return { refused, claims, dropped, -1, 0 } end
local wait = claim()
return { refused, claims, dropped, wait, plain }
