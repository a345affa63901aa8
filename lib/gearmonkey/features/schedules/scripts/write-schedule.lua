--[[
  Writes or removes a schedule, unless it is not what it was when it was read.

  KEYS[1] schedules   KEYS[2] ticks
  ARGV[1] id   ARGV[2] version that was read, or '' for none   ARGV[3] slot that was read, or ''
  ARGV[4] what its client writes as JSON, or '' to remove it   ARGV[5] its new version
  ARGV[6] slot of its next tick, or '' for none   ARGV[7] the time of that in ms
  Returns 1, or 0 if another call has changed it or its tick meanwhile: then nothing is written.
]]
-- include refusals: refusal_of

local schedules, ticks = KEYS[1], KEYS[2]
local id, spec, version, slot, time = ARGV[1], ARGV[4], ARGV[5], ARGV[6], ARGV[7]

local known = redis.call('HMGET', schedules, 'version:' .. id, 'slot:' .. id)
if (known[1] or '') ~= ARGV[2] or (known[2] or '') ~= ARGV[3] then return 0 end

local refusal = refusal_of('HSET HDEL', schedules) or refusal_of('ZADD ZREM', ticks)
if refusal then return refusal end

if spec == '' then
  redis.call('ZREM', ticks, id)
  redis.call('HDEL', schedules, 'spec:' .. id, 'version:' .. id, 'slot:' .. id, 'previous:' .. id, 'made:' .. id, 'job:' .. id)
  return 1
end
redis.call('HSET', schedules, 'spec:' .. id, spec, 'version:' .. id, version)
if slot == '' then
  redis.call('ZREM', ticks, id)
  redis.call('HDEL', schedules, 'slot:' .. id)
else
  redis.call('HSET', schedules, 'slot:' .. id, slot)
  redis.call('ZADD', ticks, time, id)
end
return 1
