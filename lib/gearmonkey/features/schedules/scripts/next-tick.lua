-- Gives next_tick

--- Milliseconds until the first tick of a function's schedules is due, or -1.
local function next_tick(ticks, now)
  local first = redis.call('ZRANGEBYSCORE', ticks, '-inf', '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
  return first[2] and math.max(0, math.ceil(first[2] - now)) or -1
end
