-- include place: place

--- Moves a job that no longer depends on another: to the scheduled ones if its delay is not over, or to those that wait.
local function unblock(jid, now)
  local key = prefix .. 'j:' .. jid
  local job = redis.call('HMGET', key, 'state', 'queue', 'priority', 'scheduled')
  if job[1] ~= 'depends' then return end
  redis.call('ZREM', prefix .. 'q:' .. job[2] .. '-depends', jid)
  local due = tonumber(job[4])
  if due then
    redis.call('HDEL', key, 'scheduled')
    if due <= now then due = nil end
  end
  redis.call('HSET', key, 'state', place(jid, job[2], job[3], now, due, false))
end

local UNBLOCKED_A_CALL = 250

local function unblock_each(list, jid, now)
  for _, dependent in ipairs(list) do
    local key = prefix .. 'j:' .. dependent .. '-dependencies'
    if redis.call('SREM', key, jid) == 1 and redis.call('EXISTS', key) == 0 then unblock(dependent, now) end
  end
end

--- Jobs that depend on this one no longer do: up to `limit` of them now, the rest in later calls. Returns how many now.
local function unblock_dependents(jid, now, limit)
  local key = prefix .. 'j:' .. jid .. '-dependents'
  local first = limit > 0 and redis.call('SPOP', key, limit) or {}
  unblock_each(first, jid, now)
  if redis.call('EXISTS', key) == 0 then return #first end
  local rest = prefix .. 'unlocking:' .. jid
  if redis.call('EXISTS', rest) == 1 then
    redis.call('SUNIONSTORE', rest, rest, key)
    redis.call('UNLINK', key)
  else
    redis.call('RENAME', key, rest)
  end
  redis.call('SADD', prefix .. 'unlocking', jid)
  return #first
end

--- Continues what earlier calls left.
local function unblock_more(now)
  local jid = redis.call('SRANDMEMBER', prefix .. 'unlocking')
  if not jid then return end
  local key = prefix .. 'unlocking:' .. jid
  unblock_each(redis.call('SPOP', key, UNBLOCKED_A_CALL), jid, now)
  if redis.call('EXISTS', key) == 0 then redis.call('SREM', prefix .. 'unlocking', jid) end
end
