-- Gives recoverable_until
-- include calls: call, try
-- include rights: missing_right

--- Leases end further ahead than any lease lasts when the clock was set back, and none would be recovered until then: they
--- end as if they had begun now.
local function shorten_leases(fn, now, longest)
  local latest = string.format('%.0f', now + longest)
  for _ = 1, 100 do
    local ahead = try('ZRANGEBYSCORE', 'lease:' .. fn, '(' .. latest, '+inf', 'LIMIT', '0', '100')
    if ahead.err or #ahead == 0 then return end
    local members = {}
    for _, member in ipairs(ahead) do members[#members + 1], members[#members + 2] = latest, member end
    try('ZADD', 'lease:' .. fn, 'XX', unpack(members))
  end
end

--- Part of a lease in which its worker renews it at least once, and some more for a line that has to come back.
local GRACE = 3 / 8
--- The longest pause, in ms, of a server with workers that do not poll. A worker looks each second.
local LONGEST_GAP = 1500
--- What a late look says of the time before it, in ms, if a call of its worker has failed since its last one: little more than
--- that the server is there now.
local SHORT_UP = 100

--- How long a lease is at most that has so many ms left: it was renewed when a quarter of it was over.
local function lease_with(left)
  return (left + LONGEST_GAP) * 4 / 3
end

--- How many ms the lease that ends last had left then; 0 if all had ended.
local function left_at(time, leases)
  local count = try('ZCARD', leases)
  if type(count) ~= 'number' or count == 0 then return 0 end
  local last = try('ZRANGEBYSCORE', leases, '-inf', '+inf', 'WITHSCORES', 'LIMIT', count - 1, 1)
  return math.max(0, not last.err and last[2] and last[2] - time or 0)
end

--- In how many ms all workers that live renew their leases, after a look before which none was for a while: by the leases that
--- there were then. Older workers may have had longer ones.
local function grace_of(leases, looked, shortest, longest, grace)
  local left = left_at(looked, leases)
  -- None had time left then: they waited for an earlier outage to end.
  if left == 0 then return grace > 0 and grace or GRACE * longest end
  return GRACE * math.min(longest, math.max(shortest, lease_with(left)))
end

--- Which leases have ended for a reason that is their worker's: those that did by the time that this returns; nil if that is not
--- known of any. `recovery:FN` is "looked:from:shortest:longest:until:later:up:grace": when leases were last looked at; from when
--- on all that have ended may be recovered; the shortest and the longest lease that workers have; and four for the time before
--- `from`. All are in ms.
---
--- After a time in which no worker looked, the server was away, or refused writes, so that no worker could renew: then all
--- get time to do so. Calls that were sent before the outage may come first after it, which is why the server decides.
--- Where one outage follows another, or each look is late, that time would never be over: of the leases that had ended at a look,
--- `later`, those may be recovered that still have when the server has been up for `grace` since then; `up` is for how long it has.
---
--- `lease` may be nil, if only a call that recovers is to begin with it. `every` is how often the worker looks, in ms, if it polls:
--- beside workers with a short lease that is no excuse. `failed` is whether a call of it has failed since its last look: then
--- this one is late, and hardly counts the time before it, in which the server was away, or refused writes, again and again. A function without a lease is not looked at while it waits for jobs: that
--- is no outage. A user who may renew none has not looked.
local function recoverable_until(fn, now, lease, every, failed)
  local key, leases = 'recovery:' .. fn, 'lease:' .. fn
  if missing_right('ZADD', leases, '1', 'x') or missing_right('ZREM', leases, 'x') then return nil end
  local stored = try('GET', key)
  -- No right to that of another function, with which one of this user shares a limit.
  if type(stored) == 'table' and not string.find(stored.err, 'WRONGTYPE', 1, true) then return nil end
  local known, at = {}, 1
  if type(stored) == 'string' and string.find(stored, '^[%d:]+$') then
    for number in string.gmatch(stored, '%d+') do known[at], at = tonumber(number), at + 1 end
  end
  local looked, from, shortest, longest = known[1], known[2] or 0, known[3] or lease, known[4] or lease
  local ended, later, up, grace = known[5] or 0, known[6] or 0, known[7] or 0, known[8] or 0
  if not shortest then
    -- The call that was to note this was lost, or an older worker has claimed: by the leases that there are.
    local left = left_at(now, leases)
    if left == 0 then return now end
    shortest, longest = left, lease_with(left)
  end
  if lease then shortest, longest = math.min(shortest, lease), math.max(longest, lease) end

  local gap = looked and now - looked or 0
  local is_long = gap > math.max(shortest / 4, LONGEST_GAP, math.min(LONGEST_GAP + every, shortest * 5 / 8))
  -- However short it was away: again and again it may be so for longer than a lease.
  local is_late = is_long or (failed and looked)
  local count = is_late and try('ZCARD', leases)
  if gap < 0 then
    shorten_leases(fn, now, longest)
    grace = GRACE * longest
    from, ended, later = now + grace, 0, 0
  elseif is_late and count ~= 0 then
    grace = grace_of(leases, looked, shortest, longest, grace)
    from = now + grace
    if later == 0 then later, up = now, 0 else up = up + math.min(gap, failed and SHORT_UP or LONGEST_GAP + every) end
  elseif is_long or now >= from then
    ended, later = 0, 0
    if is_long and lease then shortest, longest = lease, lease end
  else
    up = up + gap
  end
  if later > 0 and up >= grace then ended, later, up = later, now, 0 end
  local texts = {}
  for i, number in ipairs({ now, from, shortest, longest, ended, later, up, grace }) do texts[i] = string.format('%.0f', number) end
  local text = table.concat(texts, ':')
  local noted = try('SET', key, text, 'EX', '86400')
  -- While no leases can be renewed the worker has to know that it has not looked. A full memory takes renewals.
  if noted.err and not string.find(noted.err, 'NOPERM') and not string.find(noted.err, 'OOM') then call('SET', key, text, 'EX', '86400') end
  if now >= from then return now end
  return ended > 0 and ended or nil
end
