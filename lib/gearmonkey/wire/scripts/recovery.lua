--- Whether leases have ended for a reason that is their worker's. `recovery:FN` is "looked:from:lease", in ms: when leases
--- were last looked at, from when on jobs may be recovered, and how long a lease is. After a time in which no worker looked,
--- the server itself was away, or refused writes, so that none could renew: then all get part of a lease to do so. Calls
--- that were sent before the outage may come first after it, which is why the server decides. `lease` may be nil, if only
--- a call that recovers is to begin with it.
local function may_recover(fn, now, lease)
  local LONGEST_GAP, GRACE = 1500, 3 / 8
  local key = 'recovery:' .. fn
  local stored = redis.pcall('GET', key)
  local looked, from, known = string.match(type(stored) == 'string' and stored or '', '^(%d+):(%d+):(%d+)$')
  looked, from, lease = tonumber(looked), tonumber(from) or 0, lease or tonumber(known)
  if not lease then return true end
  -- Also if the clock went back. Not twice in a lease: where every look is late, jobs would never be recovered.
  local was_away = looked and (now < looked or now - looked > math.max(lease / 4, LONGEST_GAP))
  if was_away and (now > from + lease or now < from - lease) then from = now + lease * GRACE end
  local value = string.format('%.0f:%.0f:%.0f', now, from, lease)
  redis.pcall('SET', key, value, 'EX', '86400')
  return now >= from
end
