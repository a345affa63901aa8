-- Gives may_recover
-- include calls: try
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

--- Whether leases have ended for a reason that is their worker's. `recovery:FN` is "looked:from:shortest:longest:late": when
--- leases were last looked at, from when on jobs may be recovered, the shortest and the longest lease that workers have,
--- in ms, and how many looks in a row were late. After a time in which no worker looked, the server itself was away, or
--- refused writes, so that none could renew: then all get part of a lease to do so. Calls that were sent before the outage
--- may come first after it, which is why the server decides. `lease` may be nil, if only a call that recovers is to begin
--- with it. `every` is how often the worker looks, in ms, if it polls. A function without a lease is not looked at while it
--- waits for jobs: that is no outage. A user who may renew none has not looked.
local function may_recover(fn, now, lease, every)
  local LONGEST_GAP, GRACE, MOST_LATE = 1500, 3 / 8, 8
  local key, leases = 'recovery:' .. fn, 'lease:' .. fn
  if missing_right('ZADD', leases, '1', 'x') or missing_right('ZREM', leases, 'x') then return false end
  local stored = try('GET', key)
  local looked, from, shortest, longest, late =
    string.match(type(stored) == 'string' and stored or '', '^(%d+):(%d+):(%d+):(%d+):(%d+)$')
  looked, from, late = tonumber(looked), tonumber(from) or 0, tonumber(late) or 0
  shortest, longest = tonumber(shortest) or lease, tonumber(longest) or lease
  if not shortest then return true end
  if lease then shortest, longest = math.min(shortest, lease), math.max(longest, lease) end
  local went_back = looked and now < looked
  if went_back then shorten_leases(fn, now, longest) end
  local is_late = looked and now - looked > math.max(shortest / 4, LONGEST_GAP + every) and try('ZCARD', leases) ~= 0
  -- Where every look is late, jobs would never be recovered: not too often in a row.
  if went_back or (is_late and late < MOST_LATE) then
    from, late = now + longest * GRACE, late + 1
  elseif not is_late and now >= from then
    late = 0
  end
  try('SET', key, string.format('%.0f:%.0f:%.0f:%.0f:%.0f', now, from, shortest, longest, late), 'EX', '86400')
  return now >= from
end
