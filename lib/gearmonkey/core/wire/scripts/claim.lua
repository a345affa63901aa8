--[[
  A worker's round trip: writes outcomes, recovers expired jobs, and claims jobs for the free slots.

  KEYS[1] prefix of the job hashes   KEYS[2] prefix of the locks   KEYS[3] leases   KEYS[4] scheduled
  KEYS[5] high   KEYS[6] normal   KEYS[7] low   KEYS[8] wake marker   KEYS[9] channel   KEYS[10] control
  KEYS[11] optional: gets the claims as a JSON list of "id:token", in case the worker never gets the reply
  ARGV[1] now in ms, or ''   ARGV[2] length of a lease in ms   ARGV[3] free slots   ARGV[4] stalls allowed
  ARGV[5] 1 to recover expired jobs, if there was time to renew them; of a worker that polls how often it does, in ms; else 0. Negative if a call of the worker has failed since it last asked for this
  ARGV[6] largest input in bytes   ARGV[7] 1 if this worker finds out keys of jobs, '' if
  no claim of it was of a function with a limit, else 0   ARGV[8] '' or "success:error:lists": seconds for which jobs are kept that
  succeed, and that end as errors, and 1 to set when the list of successes expires
  ARGV[9…] outcomes, four each: "id:token", then
    'success', output, a channel that gets "id:token:output" or ''
    'error', message, error as JSON
    'retry', ms to wait, error as JSON
    'snoozed', ms to wait, name of the signal that it waits for or ''
    'held', ms for which its key starts no job, ''
    'filed', its key, ''
    'released', '', ''
  Returns { refused "id:token" …}, { id, claim, input, waited … }, { dropped id … }, ms until the next scheduled job is due
  (-1 if there is none or the function is paused, 0 if no slot is left), how many claimed jobs came from plain clients, then, if the
  function has a limit, { id, claim, input, waited … } of jobs without a key, which use no slot: the worker answers each with 'filed'.
  This is 0, and nothing was claimed, if this worker finds out keys but no rules are stored: it stores them and calls again; nil
  without a limit. Last 1 if settle-flows.lua has something to do.
  `claim` is "token:attempts:stalls:snoozes:options", or only "token" for "token:1:0:0:". `waited` is how long a job that
  is claimed for the first time could have run before, in ms; -1 if it was claimed before or this is not known.

  A lease is the member "id:token" with the time it expires. The first token is the job's mark plus 1, and each claim
  adds 1, including claims that were released. Another job that gets the same id after a failover therefore has
  different tokens. Commands that may fail on foreign data or for a missing right run before anything is taken, or by
  `try`, so that no job is lost.

  How a plain job passes: settle, by finish.lua; then claim_jobs: take_due, take_from, and take.lua. What a function's limit adds
  is in limit-hooks.lua, and made only if the function has one; outcomes other than success are in outcomes.lua.

  Claiming stops when the inputs add up to a mebibyte: the reply must arrive before its leases end.

  This is the hot path: one command serves a whole batch where possible, and numbers are passed as strings, because
  Redis would otherwise format each of them.
]]
-- include calls: call, try
-- include clock: clock
-- include idle-limit: keeps_nothing
-- include limit-prefix: limit_prefix

-- Shortcut of a call without outcomes that finds no job, which is the usual case of an idle worker. One that finds out keys has
-- to say whether the rules are lost.
local control
if #ARGV < 9 then
  local found = call('EXISTS', KEYS[10], unpack(KEYS, 3, 7))
  if found == 0 and (KEYS[11] or ARGV[7] == '') then return { {}, {}, {}, -1, 0 } end
  if found == 1 then
    control = try('HMGET', KEYS[10], 'paused', 'limit', 'override')
    -- The one key that exists is the control's.
    if control[2] and keeps_nothing(control[2], limit_prefix(KEYS[1])) then return { {}, {}, {}, -1, 0, {} } end
  end
end

-- include fields: fields -- at the head these cost +20 % of a call of an idle worker
-- include finish: finish -- at the head these cost +20 % of a call of an idle worker
-- include outcomes: open_outcomes -- at the head these cost +20 % of a call of an idle worker
-- include put-back: put_back -- at the head these cost +20 % of a call of an idle worker
-- include queues: next_due -- at the head these cost +20 % of a call of an idle worker
-- include recovery: recoverable_until -- at the head these cost +20 % of a call of an idle worker
-- include refuses-writes: refuses_writes -- at the head these cost +20 % of a call of an idle worker
-- include rights: missing_right -- at the head these cost +20 % of a call of an idle worker
-- include take: take -- at the head these cost +20 % of a call of an idle worker

local now = clock(ARGV[1])
local lease, slots = tonumber(ARGV[2]), tonumber(ARGV[3])
local keys = {
  jobs = KEYS[1], locks = KEYS[2], leases = KEYS[3], scheduled = KEYS[4],
  high = KEYS[5], normal = KEYS[6], low = KEYS[7], wake = KEYS[8], channel = KEYS[9],
  control = KEYS[10], limits = limit_prefix(KEYS[1]),
}
if ARGV[8] ~= '' then
  keys.success_seconds, keys.error_seconds, keys.lists = string.match(ARGV[8], '^(%d+):(%d+):(%d)$')
  keys.list_seconds = string.format('%.0f', math.max(tonumber(keys.success_seconds), tonumber(keys.error_seconds)) + 3600)
end
local files, outcomes_from = ARGV[7] == '1', 9
local MAX_BYTES = 1048576
--- How many jobs that can't be run one call ends or drops: more would block the server.
local MAX_USELESS = 1000
local success_list = 'ended:' .. string.sub(KEYS[1], 5) .. 'success'
local refused = {}

--- What the parts of this call share.
local turn = {
  keys = keys, now = now,
  --- The time, and when leases end that begin now, as text.
  stamp = string.format('%.0f', now), lease_end = string.format('%.0f', now + lease),
  max_stalls = tonumber(ARGV[4]), largest = tonumber(ARGV[6]), files = files,
  --- Lists of the reply.
  claims = {}, dropped = {},
  --- Leases that begin, as arguments of ZADD, and their members; whether their key is known to be a sorted set.
  leases = {}, mine = {}, has_leases = false,
  --- Jobs that use a slot, that came from plain clients, and that could not be run; bytes of inputs.
  taken = 0, plain = 0, useless = 0, bytes = 0,
  --- Only of a function with a limit: see limit-hooks.lua.
  hooks = nil,
}

local knows_limit = ARGV[7] ~= '' or ARGV[5] ~= '0'
control = control or (slots > 0 or knows_limit) and try('HMGET', keys.control, 'paused', 'limit', 'override') or {}
local hooks, sources, lacks
if control[2] then
  -- include limit-hooks: limit_hooks -- at the head +2 % of a job without a limit
  hooks, lacks = limit_hooks(turn, control[2], control[3])
end
if hooks then turn.hooks, sources = hooks, hooks.sources end

local unusual
local function open_unusual()
  unusual = unusual or open_outcomes(turn)
  return unusual
end

--- Lists the jobs that have succeeded.
local function list_successes()
  if #keys.successes > 0 then try('ZADD', success_list, unpack(keys.successes)) end
  keys.successes = {}
end

--- Removes the leases of all outcomes with one command. Only if some were missing, it checks for each job whether this
--- claim still holds it. An accepted outcome is accepted again if it is sent again after a lost reply. Returns an error reply,
--- and writes nothing, if the user may not list jobs that wait for their next attempt.
local function settle()
  local members, count, retries = {}, 0, false
  for i = outcomes_from, #ARGV, 4 do
    count = count + 1
    members[count] = ARGV[i]
    if ARGV[i + 1] == 'retry' then retries = true end
  end
  if count == 0 then return end
  local refusal = retries and missing_right('ZADD', 'retrying:' .. string.sub(keys.jobs, #'job:' + 1, -2), '1', 'x')
  if refusal then return refusal end
  local removed = try('ZREM', keys.leases, unpack(members))
  if refuses_writes(removed) then call('ZREM', keys.leases, unpack(members)) end
  turn.has_leases = type(removed) == 'number'
  local all_held = removed == count
  local place_of = hooks and hooks.places(members)
  keys.successes = {}
  for i = outcomes_from, #ARGV, 4 do
    local id, token = string.match(ARGV[i], '^(.*):(%d+)$')
    local place = place_of and place_of((i - outcomes_from) / 4 + 1, id, ARGV[i + 1])
    local job = all_held or fields(keys.jobs, id, 'status', 'token', 'settled', 'lost')
    local known = not all_held and job[3] == token
    local accepted = known or all_held or (job[1] == 'busy' and job[2] == token and job[4] ~= token)
    if accepted and not known and ARGV[i + 1] == 'success' then
      accepted = finish(keys, id, turn.stamp, ARGV[i + 3], token, 'success', ARGV[i + 2], 'settled', token)
    elseif accepted and not known then
      -- If this outcome raises an error, those before it stay accepted: when they are sent again, none is listed.
      list_successes()
      accepted = open_unusual().accept(id, token, ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], place)
    end
    if place then hooks.ended(place, ARGV[i]) end
    if not accepted then refused[#refused + 1] = ARGV[i] end
  end
  list_successes()
end

local function has_room()
  return turn.taken < slots and turn.bytes < MAX_BYTES and turn.useless < MAX_USELESS
end

--- How many jobs of the protocol's lists this call may still take.
local function room()
  if not has_room() then return 0 end
  return sources and sources.room() or slots - turn.taken
end

local function take_due()
  local ids = call('ZRANGEBYSCORE', keys.scheduled, '0', now / 1000, 'LIMIT', '0', room())
  local last = 0
  -- A write that uses no memory comes first: then Redis allows the others even if its memory is full.
  if ids[1] then call('ZREM', keys.scheduled, ids[1]) end
  while last < #ids and room() > 0 do
    last = last + 1
    take(turn, ids[last], 'scheduled')
  end
  if last > 1 then call('ZREM', keys.scheduled, unpack(ids, 2, last)) end
end

--- Dropped ids use no slot, so a queue is popped until it is empty or no slot is left. Returns whether it may have more.
local function take_from(queue)
  while room() > 0 do
    local asked = room()
    local ids = try('RPOP', keys[queue], asked)
    if not ids or ids.err then return false end
    for i, id in ipairs(ids) do
      if room() == 0 then return put_back(keys[queue], ids, i, keys.scheduled) end
      take(turn, id, queue)
    end
    if #ids < asked then return false end
  end
  return true
end

--- Writes the leases of the jobs that were taken, and notes the claims.
local function write_leases()
  local leases = turn.leases
  if #leases == 0 then return end
  call('ZADD', keys.leases, unpack(leases))
  if not KEYS[11] then return end
  local members = {}
  for i = 2, #leases, 2 do members[#members + 1] = leases[i] end
  try('SET', KEYS[11], cjson.encode(members), 'PX', string.format('%.0f', math.ceil(lease)))
end

--- Claims jobs for the free slots, and sets the wake marker if jobs are left. Returns ms until the next one is due.
local function claim_jobs()
  -- Fails here if the key has another type: later, popped jobs would be lost.
  if not turn.has_leases then call('ZCARD', keys.leases) end
  if sources then sources.open() end
  local wait = next_due(keys.scheduled, now)
  while wait == 0 and room() > 0 do
    take_due()
    wait = next_due(keys.scheduled, now)
  end
  local left, is_over = {}, false
  for _, queue in ipairs({ 'high', 'normal', 'low' }) do
    if take_from(queue) then left[#left + 1] = keys[queue] end
    if sources then sources.take(queue, has_room) end
  end
  write_leases()
  if sources then wait, is_over = sources.close(wait, left) end
  if has_room() and not is_over then return wait end
  -- The claims are written: without a right to these they are still to be answered.
  if try('EXISTS', keys.wake) == 0 and (wait == 0 or (#left > 0 and call('EXISTS', unpack(left)) > 0)) then
    try('LPUSH', keys.wake, '1')
  end
  return 0
end

local job = keys.jobs .. 'x'
-- Each command and each prefix once.
local refusal = missing_right('HMGET', job, 'x') or missing_right('HSET', job, 'x', 'x') or missing_right('EXPIRE', success_list, '1')
  or missing_right('ZADD', keys.leases, '1', 'x') or lacks or settle()
if refusal then return refusal end
if keys.lists == '1' then try('EXPIRE', success_list, keys.list_seconds) end
local recover = tonumber(ARGV[5])
local ended = recover ~= 0
  and recoverable_until(string.sub(keys.leases, #'lease:' + 1), now, lease, math.abs(recover) - 1, recover < 0)
if ended then open_unusual().recover_expired(ended) end
--- In the reply, false becomes nil, and a table ends before nil.
local function reply(wait, of_limit)
  return { refused, turn.claims, turn.dropped, wait, turn.plain, of_limit or false, keys.ended_in_flow and 1 or nil }
end
if slots == 0 then
  if sources and sources.has_more() and call('EXISTS', keys.wake) == 0 then call('LPUSH', keys.wake, '1') end
  return reply(0)
end
if control[1] then return reply(-1) end
-- The server lost its memory: nothing is claimed until this worker has stored its rules again.
if files and control[2] == false then return reply(0, 0) end
local wait = claim_jobs()
return reply(wait, turn.unfiled)
