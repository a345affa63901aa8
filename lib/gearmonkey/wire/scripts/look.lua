--[[
  Checks functions for work without a wake marker: jobs of plain clients, scheduled jobs that are due, expired leases.
  If there is any, it sets the wake marker, and one idle worker claims it.

  KEYS ten per function: leases, scheduled, high, normal, low, wake marker, ticks, control hash, leader, whether plain
  clients send jobs
  ARGV[1] now in ms, or ''   ARGV[2] worker, or ''   ARGV[3] ms for which it leads, 0 to give up leadership
  Returns three for each function: ms until its next scheduled job is due, or -1 (also if it is paused); 1 if this worker
  leads it, 2 if it leads it and plain clients send jobs, else 0; ms until the next tick of its schedules, or -1.

  The first worker that checks a function becomes its leader. For the others nothing is checked: each would set the
  marker again until the worker that the first one woke has claimed. With `worker` '' all functions are checked.

  Jobs of a paused function are no work: the marker would wake workers that claim none of them, again and again.

  One call finds out whether any function has work at all, since most functions of an idle worker have none.
]]
-- include clock
-- include queues

local KEYS_A_FUNCTION, WORK_KEYS, WAKE = 10, 7, 6
local worker, hold = ARGV[2], tonumber(ARGV[3])

--- A write that uses no memory. After it Redis allows other writes of the script even if its memory is full.
local function allow_writes()
  redis.pcall('LTRIM', KEYS[WAKE], 0, 0)
end

--- Whether this worker leads; if it led before, its time is extended. A key of another type or without an expiry was
--- not written by a worker of this package, and is replaced.
local function leads(key, known)
  local is_other = known and known ~= worker
  if is_other and redis.call('PTTL', key) >= 0 then return false end
  if hold > 0 then
    local set = { 'SET', key, worker, 'PX', string.format('%.0f', hold) }
    if redis.pcall(unpack(set)).err then
      allow_writes()
      redis.call(unpack(set))
    end
  elseif known and not is_other then
    redis.call('DEL', key)
  end
  return hold > 0
end

--- Returns each function's leadership in the form of the reply.
local function elect()
  local elected, names = {}, {}
  for i = KEYS_A_FUNCTION, #KEYS, KEYS_A_FUNCTION do
    names[#names + 1], names[#names + 2] = KEYS[i - 1], KEYS[i]
  end
  local known = redis.call('MGET', unpack(names))
  for i = 1, #names, 2 do
    local plain = known[i + 1] and 2 or 1
    elected[#elected + 1] = leads(names[i], known[i]) and plain or 0
  end
  return elected
end

--- The lowest score; the protocol has no scores below 0.
local function first(key)
  local entry = redis.pcall('ZRANGEBYSCORE', key, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  return not entry.err and entry[2] and tonumber(entry[2]) or nil
end

--- Sets the marker if there is work. Returns ms until the next scheduled job is due and until the next tick, or -1.
local function look(now, leases, scheduled, high, normal, low, wake, ticks, control)
  local expiry, wait = first(leases), -1
  local work = expiry and expiry <= now
  if not redis.pcall('HMGET', control, 'paused')[1] then
    wait = next_due(scheduled, now)
    work = work or wait == 0 or is_waiting(high) or is_waiting(normal) or is_waiting(low)
  end
  local set = redis.pcall('LLEN', wake)
  -- A key of another type would make the blocking calls of all workers fail.
  if type(set) ~= 'number' then set = redis.call('DEL', wake) - 1 end
  if work and set == 0 then redis.call('LPUSH', wake, '1') end
  local tick = first(ticks)
  return wait, tick and math.max(0, math.ceil(tick - now)) or -1
end

--- Whether any function that this worker leads may have work or a marker.
local function any_work(elected)
  local keys = {}
  for i = 1, #KEYS, KEYS_A_FUNCTION do
    if elected[(i - 1) / KEYS_A_FUNCTION + 1] ~= 0 then
      for key = i, i + WORK_KEYS - 1 do keys[#keys + 1] = KEYS[key] end
    end
  end
  return #keys > 0 and redis.call('EXISTS', unpack(keys)) > 0
end

local elected = worker ~= '' and elect() or {}
local looks, now = any_work(elected), nil
local replies = {}
for i = 1, #KEYS, KEYS_A_FUNCTION do
  local leading, last, wait, tick = elected[#replies / 3 + 1], i + WORK_KEYS - 1, -1, -1
  local alone = #KEYS == KEYS_A_FUNCTION
  if looks and leading ~= 0 and (alone or redis.call('EXISTS', unpack(KEYS, i, last)) > 0) then
    if not now then
      allow_writes()
      now = clock(ARGV[1])
    end
    wait, tick = look(now, unpack(KEYS, i, last + 1))
  end
  local at = #replies
  replies[at + 1], replies[at + 2], replies[at + 3] = wait, leading or 0, tick
end
return replies
