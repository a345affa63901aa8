--[[
  Keeps `count:{FN}` true: counts this worker, once, and takes off those of ours that died without signing off.

  KEYS two a function: count, workers of ours by the time their presence ends
  ARGV[1] now in ms, or ''   ARGV[2] worker, or '' for a roll call   ARGV[3] ms its presence holds, or 0 to sign off
  ARGV[4] 1 for a beat of a worker that has signed on
  Returns the count of each function, or -1 where a beat found nothing new to count.

  A beat looks for workers that died and counts that were lost at some of the functions only, at others the next time:
  at each of them about once in the time of two presences.

  Plain workers count themselves, so it is only ever changed by the difference; and it never expires, since a plain
  worker's INCR would go with it. The next worker takes off those that died when none of ours was left.
]]
-- include clock

local now, worker, hold = clock(ARGV[1]), ARGV[2], tonumber(ARGV[3])
--- Beats come four times a presence or more often.
local TURNS = 8
local turn = ARGV[4] == '1' and math.floor(4 * now / hold) % TURNS

--- Adds the difference to the count, and puts it right where it was lost. Returns it.
local function correct(key, workers, change)
  local ours = redis.call('ZCARD', workers)
  local stored = redis.call('GET', key)
  local count = tonumber(stored or 0)
  if not count or math.abs(count) >= 2 ^ 53 or not string.match(stored or '0', '^%-?%d+$') then
    -- No count of anybody's.
    redis.call('SET', key, string.format('%.0f', ours))
    return ours
  end
  -- Lost with the server's memory.
  if change == 0 and count < ours then change = ours - count end
  change = math.max(change, -count)
  if change == 0 then return count end
  return redis.call('INCRBY', key, string.format('%.0f', change))
end

--- How many it takes off.
local function clean(workers)
  return redis.call('ZREMRANGEBYSCORE', workers, '-inf', now)
end

--- 1 if it was not there. Where memory is full, a write that takes none comes first: Redis then allows the others.
local function enter(workers)
  local added = redis.pcall('ZADD', workers, now + hold, worker)
  if type(added) == 'number' then return added end
  local cleaned = clean(workers)
  return redis.call('ZADD', workers, now + hold, worker) - cleaned
end

local function sign(key, workers, thorough)
  local change = thorough and -clean(workers) or 0
  if hold > 0 then
    change = change + enter(workers)
  elseif worker ~= '' then
    change = change - redis.call('ZREM', workers, worker)
  end
  return (thorough or change ~= 0) and correct(key, workers, change) or -1
end

local counts, failure = {}, nil
for i = 1, #KEYS, 2 do
  -- A key of another type is the trouble of its function only.
  local signed, count = pcall(sign, KEYS[i], KEYS[i + 1], not turn or turn == (i - 1) / 2 % TURNS)
  if not signed then failure = failure or count end
  counts[#counts + 1] = signed and count or -1
end
if failure then return redis.error_reply(type(failure) == 'table' and failure.err or failure) end
return counts
