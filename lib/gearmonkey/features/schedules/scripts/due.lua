--[[
  Reads schedules of a function whose ticks are due.

  KEYS[1] schedules   KEYS[2] ticks
  ARGV[1] now in ms, or ''   ARGV[2] how many are read at most   ARGV[3] how many of those that are due are passed over
  Returns { now, ms until the first tick that is not due yet or -1, or 0 if more of them are due, then for each schedule the
  values of read-schedule }.

  A reply with many large inputs would hold up the server: beyond 1 MiB the others are left for the next call.
]]
-- include clock: clock
-- include read-schedule: read_schedule

local schedules, ticks = KEYS[1], KEYS[2]
local MAX_BYTES = 1048576
local now = clock(ARGV[1])
local till = string.format('%.0f', now)
local reply, bytes = { now, 0 }, 0

local ids = redis.call('ZRANGEBYSCORE', ticks, '-inf', till, 'LIMIT', ARGV[3], ARGV[2])
for _, id in ipairs(ids) do
  if bytes > MAX_BYTES then return reply end
  local read = read_schedule(schedules, ticks, id, reply)
  bytes = bytes + (read or 0)
  -- A tick without a schedule, which no script of this package leaves.
  if not read then redis.call('ZREM', ticks, id) end
end
if #ids == tonumber(ARGV[2]) then return reply end
local later = redis.call('ZRANGEBYSCORE', ticks, '(' .. till, '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
reply[2] = later[2] and math.max(1, math.ceil(math.min(later[2] - now, 2147483647))) or -1
return reply
