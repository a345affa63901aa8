--[[
  Reads schedules of a function: those named, or a page of all.

  KEYS[1] schedules   KEYS[2] ticks
  ARGV[1] now in ms, or ''   ARGV[2] 'named' or 'page'   ARGV[3] about how many a page has
  ARGV[4…] if named: ids; if a page: its cursor, 0 for the first one
  Returns { now, cursor of the next page or 0, then for each schedule the values of read-schedule }. A named one that does
  not exist is left out. A schedule may be on two pages.

  A reply with many large inputs would hold up the server: beyond 1 MiB a page has only ids, to be read by their names.
]]
-- include clock: clock
-- include read-schedule: read_schedule

local schedules, ticks = KEYS[1], KEYS[2]
local MAX_BYTES, FIELDS = 1048576, 6
local reply, bytes = { clock(ARGV[1]), '0' }, 0

local function page(cursor)
  local found = redis.call('HSCAN', schedules, cursor, 'MATCH', 'spec:*', 'COUNT', ARGV[3] * FIELDS)
  for i = 1, #found[2], 2 do
    local id = string.sub(found[2][i], #'spec:' + 1)
    if bytes <= MAX_BYTES then
      bytes = bytes + (read_schedule(schedules, ticks, id, reply) or 0)
    else
      reply[#reply + 1] = id
      for _ = 2, 8 do reply[#reply + 1] = '' end
    end
  end
  return found[1]
end

if ARGV[2] == 'page' then
  reply[2] = page(ARGV[4])
else
  for i = 4, #ARGV do read_schedule(schedules, ticks, ARGV[i], reply) end
end
return reply
