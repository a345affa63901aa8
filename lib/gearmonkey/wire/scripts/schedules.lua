--[[
  Reads schedules of a function: those that are due, those named, or a page of all.

  KEYS[1] schedules   KEYS[2] ticks
  ARGV[1] now in ms, or ''   ARGV[2] 'due', 'named' or 'page'   ARGV[3] about how many are read at most
  ARGV[4…] if due: how many of them are passed over; if named: ids; if a page: its cursor, 0 for the first one
  Returns { now, next, then for each schedule: id, what its client wrote as JSON, version, slot of the next tick, its time
  in ms, time of the last one that became a job, number of jobs, the last job as "id:mark" }. Values that it lacks are ''.
  next is, if due: ms until the first tick that is not due yet or -1, or 0 if more of them are due; if a page: the cursor of
  the next one, 0 after the last one. A named one that does not exist is left out. A schedule may be on two pages.

  A reply with many large inputs would block the server. What is left out for this is read by the next call if due; on a
  page it has only its id, and can be read by its name.
]]
-- include clock
local schedules, ticks = KEYS[1], KEYS[2]
local which, most = ARGV[2], tonumber(ARGV[3])
local MAX_BYTES, FIELDS = 1048576, 6
local now = clock(ARGV[1])
local reply, bytes = { now, '0' }, 0

local function add(id)
  local found = redis.call('HMGET', schedules, 'spec:' .. id, 'version:' .. id, 'slot:' .. id, 'previous:' .. id, 'made:' .. id, 'job:' .. id)
  if not found[1] then return false end
  bytes = bytes + #found[1]
  local values = { id, found[1], found[2], found[3], redis.call('ZSCORE', ticks, id), found[4], found[5], found[6] }
  for value = 1, 8 do reply[#reply + 1] = values[value] or '' end
  return true
end

local function due()
  local till = string.format('%.0f', now)
  local ids = redis.call('ZRANGEBYSCORE', ticks, '-inf', till, 'LIMIT', ARGV[4], ARGV[3])
  for _, id in ipairs(ids) do
    -- A tick without a schedule, which no script of this package leaves, is removed.
    if bytes > MAX_BYTES then return 0 elseif not add(id) then redis.call('ZREM', ticks, id) end
  end
  if #ids == most then return 0 end
  local later = redis.call('ZRANGEBYSCORE', ticks, '(' .. till, '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
  return later[2] and math.max(1, math.ceil(math.min(later[2] - now, 2147483647))) or -1
end

local function page()
  local found = redis.call('HSCAN', schedules, ARGV[4], 'MATCH', 'spec:*', 'COUNT', most * FIELDS)
  for i = 1, #found[2], 2 do
    local id = string.sub(found[2][i], #'spec:' + 1)
    if bytes <= MAX_BYTES then
      add(id)
    else
      reply[#reply + 1] = id
      for _ = 2, 8 do reply[#reply + 1] = '' end
    end
  end
  return found[1]
end

if which == 'due' then
  reply[2] = due()
elseif which == 'page' then
  reply[2] = page()
else
  for i = 4, #ARGV do add(ARGV[i]) end
end
return reply
