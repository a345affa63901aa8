--[[
  Reads schedules of a function: those that are due, those named, or all.

  KEYS[1] schedules   KEYS[2] ticks
  ARGV[1] now in ms, or ''   ARGV[2] 'due', 'named' or 'all'   ARGV[3] how many are read at most   ARGV[4…] ids, if named
  Returns { now, ms until the next tick or -1, then for each schedule: id, what its client wrote as JSON, version, slot of
  the next tick, its time in ms, time of the last one that became a job, number of jobs, the last job as "id:mark" }.
  Values that it lacks are ''. A named one that does not exist is left out.
]]
-- include clock
-- include next-tick
local schedules, ticks = KEYS[1], KEYS[2]
local which, most = ARGV[2], tonumber(ARGV[3])
--- A reply with many large inputs would block the server.
local MAX_BYTES = 1048576
local now = clock(ARGV[1])

local function ids()
  if which == 'named' then return { unpack(ARGV, 4) } end
  if which == 'due' then
    return redis.call('ZRANGEBYSCORE', ticks, '-inf', string.format('%.0f', now), 'LIMIT', '0', ARGV[3])
  end
  local all = {}
  for _, field in ipairs(redis.call('HKEYS', schedules)) do
    all[#all + 1] = string.match(field, '^spec:(.*)$')
  end
  return all
end

local reply, bytes = { now, next_tick(ticks, now) }, 0
for i, id in ipairs(ids()) do
  if i > most or (which == 'due' and bytes > MAX_BYTES) then break end
  local found = redis.call('HMGET', schedules, 'spec:' .. id, 'version:' .. id, 'slot:' .. id, 'previous:' .. id, 'made:' .. id, 'job:' .. id)
  if found[1] then
    local time = redis.call('ZSCORE', ticks, id)
    bytes = bytes + #found[1]
    local values = { id, found[1], found[2], found[3], time, found[4], found[5], found[6] }
    for value = 1, 8 do reply[#reply + 1] = values[value] or '' end
  elseif which == 'due' then
    -- A tick without a schedule, which no script of this package leaves.
    redis.call('ZREM', ticks, id)
  end
end
return reply
