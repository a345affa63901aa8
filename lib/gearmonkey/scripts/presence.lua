--[[
  Keeps `count:{FN}` true: counts this worker, once, and takes off those that died without signing off.

  KEYS[1] count   KEYS[2] workers of ours by the time their presence ends
  ARGV[1] now in ms, or ''   ARGV[2] worker   ARGV[3] ms its presence holds, or 0 to sign off
  Returns the count.

  Plain workers count themselves, so it is only ever changed by the difference. While all that are counted
  are ours, the count expires with the last presence: nobody needs to be left to take it off.

  It begins with a write that takes no memory: Redis then allows the others though its memory be full.
]]
-- include clock

local now, hold = clock(ARGV[1]), tonumber(ARGV[3])

local change = -redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if hold == 0 then
  change = change - redis.call('ZREM', KEYS[2], ARGV[2])
else
  change = change + redis.call('ZADD', KEYS[2], now + hold, ARGV[2])
end

local ours = redis.call('ZCARD', KEYS[2])
local count = tonumber(redis.call('GET', KEYS[1])) or 0
-- Lost with the server's memory, or expired while no worker was there.
if change == 0 and count < ours then change = ours - count end
change = math.max(change, -count)
if change ~= 0 then count = redis.call('INCRBY', KEYS[1], change) end

if count <= 0 then
  redis.call('SET', KEYS[1], '0')
elseif count > ours then
  -- Both: who comes back after an outage would otherwise be counted anew in a count that has stayed.
  redis.call('PERSIST', KEYS[1])
  redis.call('PERSIST', KEYS[2])
elseif hold > 0 then
  redis.call('PEXPIRE', KEYS[1], hold)
  redis.call('PEXPIRE', KEYS[2], hold)
end
return count
