--[[
  Checks functions for work without a wake marker: jobs of plain clients, scheduled jobs that are due, expired leases.
  If there is any, it sets the wake marker, and one idle worker claims it. It also gives jobs the signals of plain clients.

  KEYS eleven per function: leases, scheduled, high, normal, low, wake marker, ticks, control hash, members of flows,
  leader, whether plain clients send jobs
  ARGV[1] now in ms, or ''   ARGV[2] worker, or ''   ARGV[3] ms for which it leads, 0 to give up leadership
  ARGV[4] optional: how often it looks, in ms, if it polls; negative if a call of the worker has failed since it last looked
  Returns four for each function: ms until its next scheduled job is due, or -1 (also if it is paused); 1 if this worker
  leads it, 2 if it leads it and plain clients send jobs, else 0; ms until the next tick of its schedules, or -1; 1 if it has
  jobs of flows and is not paused, else 0.

  The first worker that checks a function becomes its leader. For the others nothing is checked: each would set the
  marker again until the worker that the first one woke has claimed. With `worker` '' all functions are checked.

  Jobs of a paused function are no work: the marker would wake workers that claim none of them, again and again.

  One call finds out whether any function has work at all, since most functions of an idle worker have none.
]]
-- include calls: call, try
-- include clock: clock
-- include idle-limit: keeps_nothing
-- include limit-turns: add_turns
-- include limits: open_limits
-- include queues: is_waiting, next_due
-- include recovery: recoverable_until
-- include signals: give_signal, signal_refusal

local KEYS_A_FUNCTION, WORK_KEYS, WAKE = 11, 9, 6
--- In ms.
local LONGEST_HOLD = 10000
local worker, hold, every = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]) or 0
local now

--- A write that uses no memory. After it Redis allows other writes of the script even if its memory is full.
local function allow_writes()
  try('LTRIM', KEYS[WAKE], 0, 0)
end

--- Whether this worker leads; if it led before, its time is extended. A key of another type or without an expiry was
--- not written by a worker of this package, and is replaced; so is one that lives for too long, since the clock was set back.
local function leads(key, known)
  local is_other = known and known ~= worker
  local left = is_other and call('PTTL', key) or -1
  if left >= 0 and (hold == 0 or left <= math.max(LONGEST_HOLD, hold)) then return false end
  if hold > 0 then
    local set = { 'SET', key, worker, 'PX', string.format('%.0f', hold) }
    if try(unpack(set)).err then
      allow_writes()
      call(unpack(set))
    end
  elseif known and not is_other then
    call('DEL', key)
  end
  return hold > 0
end

--- Returns each function's leadership in the form of the reply.
local function elect()
  local elected, names = {}, {}
  for i = KEYS_A_FUNCTION, #KEYS, KEYS_A_FUNCTION do
    names[#names + 1], names[#names + 2] = KEYS[i - 1], KEYS[i]
  end
  local known = call('MGET', unpack(names))
  for i = 1, #names, 2 do
    local plain = known[i + 1] and 2 or 1
    elected[#elected + 1] = leads(names[i], known[i]) and plain or 0
  end
  return elected
end

--- The lowest score; the protocol has no scores below 0.
local function first(key)
  local entry = try('ZRANGEBYSCORE', key, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  return not entry.err and entry[2] and tonumber(entry[2]) or nil
end

--- Gives jobs the signals that plain clients have pushed: "id:name:data". Leaves them there while the user may not.
local function take_signals(keys, key, is_limited)
  local MOST = 100
  if try('EXISTS', key) ~= 1 or signal_refusal(keys, is_limited) then return end
  local entries = try('RPOP', key, MOST)
  if not entries or entries.err then return end
  for _, entry in ipairs(entries) do
    local id, name, data = string.match(entry, '^(%d+):([^:]+):(.*)$')
    if id then give_signal(keys, now, id, '', name, data) end
  end
end

--- Whether a function that is not paused has jobs to claim, ms until its next job is due, or -1, and whether it has flows.
--- `runs`: whether jobs run.
local function look_for_jobs(keys, high, normal, low, flows, stored, fn, runs)
  local signals = 'queue:' .. fn .. ':signals'
  -- One call for the usual case that there is none of these.
  local any = try('EXISTS', high, normal, low, signals, flows) ~= 0
  if any then take_signals(keys, signals, stored[2]) end
  local has_flows = any and try('EXISTS', flows) == 1
  local wait = next_due(keys.scheduled, now)
  local work = wait == 0 or (any and (is_waiting(high) or is_waiting(normal) or is_waiting(low)))
  local limits = stored[2] and open_limits(keys, now, stored[2], stored[3])
  if not limits then return work, wait, has_flows end
  add_turns(limits)
  local due = limits.next_time()
  if due then wait = wait < 0 and due or math.min(wait, due) end
  local rings = {}
  limits.add_rings(rings)
  return work or wait == 0 or call('EXISTS', unpack(rings)) > 0 or limits.is_stuck(runs), wait, has_flows
end

--- Sets the marker if there is work. Returns ms until the next job is due and until the next tick, or -1, and 1 if it has flows.
local function look(leases, scheduled, high, normal, low, wake, ticks, control, flows)
  local stored = try('HMGET', control, 'paused', 'limit', 'override')
  local fn = string.sub(control, #'control:' + 1)
  -- The usual case of a function with a limit.
  if stored[2] and keeps_nothing(stored[2], 'limit:' .. fn .. ':')
    and call('EXISTS', leases, scheduled, high, normal, low, wake, ticks, flows) == 0 then
    return -1, -1, 0
  end
  local expiry, wait, has_flows = first(leases), -1, false
  local ended = expiry and recoverable_until(fn, now, nil, math.abs(every), every < 0)
  local work = ended and expiry <= ended
  local keys = {
    limits = 'limit:' .. fn .. ':', wake = wake, jobs = 'job:' .. fn .. ':', scheduled = scheduled, control = control,
  }
  if not stored[1] then
    local has_jobs
    has_jobs, wait, has_flows = look_for_jobs(keys, high, normal, low, flows, stored, fn, expiry ~= nil)
    work = work or has_jobs
  end
  local set = try('LLEN', wake)
  -- A key of another type would make the blocking calls of all workers fail.
  if type(set) ~= 'number' then set = call('DEL', wake) - 1 end
  if work and set == 0 then call('LPUSH', wake, '1') end
  local tick = first(ticks)
  return wait, tick and math.max(0, math.ceil(tick - now)) or -1, has_flows and 1 or 0
end

--- Whether any function that this worker leads may have work or a marker.
local function any_work(elected)
  local keys = {}
  for i = 1, #KEYS, KEYS_A_FUNCTION do
    if elected[(i - 1) / KEYS_A_FUNCTION + 1] ~= 0 then
      for key = i, i + WORK_KEYS - 1 do keys[#keys + 1] = KEYS[key] end
    end
  end
  return #keys > 0 and call('EXISTS', unpack(keys)) > 0
end

local elected = worker ~= '' and elect() or {}
local looks = any_work(elected)
local replies = {}
for i = 1, #KEYS, KEYS_A_FUNCTION do
  local leading, last, wait, tick, flows = elected[#replies / 4 + 1], i + WORK_KEYS - 1, -1, -1, 0
  local alone = #KEYS == KEYS_A_FUNCTION
  if looks and leading ~= 0 and (alone or call('EXISTS', unpack(KEYS, i, last)) > 0) then
    if not now then
      allow_writes()
      now = clock(ARGV[1])
    end
    wait, tick, flows = look(unpack(KEYS, i, last))
  end
  local at = #replies
  replies[at + 1], replies[at + 2], replies[at + 3], replies[at + 4] = wait, leading or 0, tick, flows
end
return replies
