--[[
  Keeps `count:{FN}` correct: counts this worker once, and subtracts workers of this package that died without signing off.

  KEYS two per function: count, this package's workers by the time their presence ends
  ARGV[1] now in ms, or ''   ARGV[2] worker, or '' for a roll call   ARGV[3] ms of its presence, or 0 to sign off
  ARGV[4] 1 for a heartbeat of a worker that has signed on
  Returns the count of each function, or -1 if a heartbeat found no change.

  Each heartbeat checks only some functions for dead workers and lost counts: every function about once in the time
  of two presences.

  Plain workers count themselves, so the count is only changed by a difference. It never expires, because the INCR of a
  plain worker would be lost with it. If all workers died, the next one that signs on subtracts them.
]]
-- include clock: clock
-- include rights: missing_right

local now, worker, hold = clock(ARGV[1]), ARGV[2], tonumber(ARGV[3])
--- There are at least four heartbeats in the time of a presence.
local TURNS = 8
local turn = ARGV[4] == '1' and math.floor(4 * now / hold) % TURNS

--- Adds the difference to the count, and restores a lost count. Returns the count.
local function correct(key, workers, change)
  local ours = redis.call('ZCARD', workers)
  local stored = redis.call('GET', key)
  local count = tonumber(stored or 0)
  if not count or math.abs(count) >= 2 ^ 53 or not string.match(stored or '0', '^%-?%d+$') then
    -- The value is not a count.
    redis.call('SET', key, string.format('%.0f', ours))
    return ours
  end
  -- The count was lost, for example in a restart of the server.
  if change == 0 and count < ours then change = ours - count end
  change = math.max(change, -count)
  if change == 0 then return count end
  return redis.call('INCRBY', key, string.format('%.0f', change))
end

--- Removes workers whose presence has ended. Returns how many.
local function clean(workers)
  return redis.call('ZREMRANGEBYSCORE', workers, '-inf', now)
end

--- Adds this worker; returns 1 if it is new. If memory is full, a write that uses none comes first: Redis then allows others.
local function enter(workers)
  local added = redis.pcall('ZADD', workers, now + hold, worker)
  if type(added) == 'number' then return added end
  local cleaned = clean(workers)
  return redis.call('ZADD', workers, now + hold, worker) - cleaned
end

local function sign(key, workers, thorough)
  local refusal = (thorough or hold == 0)
    and (missing_right('ZCARD', workers) or missing_right('GET', key) or missing_right('INCRBY', key, '1'))
  -- Without these, a worker that leaves the list stays in the count for good, and one that enters it is not counted.
  if refusal and worker ~= '' then
    if hold > 0 then redis.call('ZADD', workers, 'XX', now + hold, worker) end
    error(refusal)
  end
  local change = thorough and not refusal and -clean(workers) or 0
  if hold > 0 then
    change = change + enter(workers)
  elseif worker ~= '' then
    change = change - redis.call('ZREM', workers, worker)
  end
  return (thorough or change ~= 0) and correct(key, workers, change) or -1
end

local counts, failure = {}, nil
for i = 1, #KEYS, 2 do
  -- A key of another type must not affect other functions.
  local signed, count = pcall(sign, KEYS[i], KEYS[i + 1], not turn or turn == (i - 1) / 2 % TURNS)
  if not signed then failure = failure or count end
  counts[#counts + 1] = signed and count or -1
end
if failure then return redis.error_reply(type(failure) == 'table' and failure.err or failure) end
return counts
