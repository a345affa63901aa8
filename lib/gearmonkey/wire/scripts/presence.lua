--[[
  Keeps `count:{FN}` true: counts this worker, once, and takes off those of ours that died without signing off.

  KEYS[1] count   KEYS[2] workers of ours by the time their presence ends
  ARGV[1] now in ms, or ''   ARGV[2] worker, or '' for a roll call   ARGV[3] ms its presence holds, or 0 to sign off
  Returns the count.

  Plain workers count themselves, so it is only ever changed by the difference; and it never expires, since a plain
  worker's INCR would go with it. Whoever comes next takes off who died when none of ours was left.

  It begins with a write that takes no memory: Redis then allows the others though its memory be full.
]]
-- include clock

local now, worker, hold = clock(ARGV[1]), ARGV[2], tonumber(ARGV[3])

local change = -redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if hold > 0 then
  change = change + redis.call('ZADD', KEYS[2], now + hold, worker)
elseif worker ~= '' then
  change = change - redis.call('ZREM', KEYS[2], worker)
end

local ours = redis.call('ZCARD', KEYS[2])
local stored = redis.call('GET', KEYS[1])
local count = tonumber(stored or 0)
if not count or math.abs(count) >= 2 ^ 53 or not string.match(stored or '0', '^%-?%d+$') then
  -- No count of anybody's.
  redis.call('SET', KEYS[1], string.format('%.0f', ours))
  return ours
end
-- Lost with the server's memory.
if change == 0 and count < ours then change = ours - count end
change = math.max(change, -count)
if change == 0 then return count end
return redis.call('INCRBY', KEYS[1], string.format('%.0f', change))
