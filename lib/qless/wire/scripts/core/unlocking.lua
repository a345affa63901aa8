-- include releasing
local UNLOCKED_A_CALL = 250

local function unlock_each(list, jid, now)
  for _, dependent in ipairs(list) do
    local key = ql .. 'j:' .. dependent .. '-dependencies'
    if redis.call('SREM', key, jid) == 1 and redis.call('EXISTS', key) == 0 then release(dependent, now) end
  end
end

--- Those that depend on the job do no longer: up to `limit` of them at once, the rest in later calls. Returns how
--- many at once.
local function unlock_dependents(jid, now, limit)
  local key = ql .. 'j:' .. jid .. '-dependents'
  local first = limit > 0 and redis.call('SPOP', key, limit) or {}
  unlock_each(first, jid, now)
  if redis.call('EXISTS', key) == 0 then return #first end
  local rest = ql .. 'unlocking:' .. jid
  if redis.call('EXISTS', rest) == 1 then
    redis.call('SUNIONSTORE', rest, rest, key)
    redis.call('UNLINK', key)
  else
    redis.call('RENAME', key, rest)
  end
  redis.call('SADD', ql .. 'unlocking', jid)
  return #first
end

--- A part of what earlier calls left.
local function unlock_more(now)
  local jid = redis.call('SRANDMEMBER', ql .. 'unlocking')
  if not jid then return end
  local key = ql .. 'unlocking:' .. jid
  unlock_each(redis.call('SPOP', key, UNLOCKED_A_CALL), jid, now)
  if redis.call('EXISTS', key) == 0 then redis.call('SREM', ql .. 'unlocking', jid) end
end
