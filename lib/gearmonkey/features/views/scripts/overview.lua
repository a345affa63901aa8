--[[
  Counts the jobs of a function. Writes nothing.

  KEYS[1] prefix of the job hashes   KEYS[2] control   KEYS[3] leases   KEYS[4] scheduled   KEYS[5] high   KEYS[6] normal
  KEYS[7] low   KEYS[8] retries   KEYS[9] success   KEYS[10] failed   KEYS[11] cancelled   KEYS[12] count   KEYS[13] workers
  ARGV[1] now in ms, or ''   ARGV[2] ms for which ended jobs are kept
  Returns, as text: jobs that wait in high, normal and low; scheduled, retrying, running, success, failed, cancelled; keys
  of its limit that have jobs and may start none; 1 if it is paused, else 0; when the oldest waiting job was created, or '';
  workers.
]]
-- include calls: call
-- include clock: clock
-- include kept: first_kept
-- include limit-prefix: limit_prefix
-- include limits: open_limits
-- include reads: read
-- include waiting-keys: lists_of_keys

local now = clock(ARGV[1])
local keys = { jobs = KEYS[1], limits = limit_prefix(KEYS[1]), wake = '' }
local after = string.format('(%.0f', now)

local control = read({}, 'HMGET', KEYS[2], 'paused', 'limit', 'override')
local limits = control[2] and open_limits(keys, now, control[2], control[3])
local waiting = { high = read(0, 'LLEN', KEYS[5]), normal = read(0, 'LLEN', KEYS[6]), low = read(0, 'LLEN', KEYS[7]) }
local later, full, oldest = read(0, 'ZCARD', KEYS[4]), 0, nil

--- The ids of the jobs that were queued first, of each list.
local firsts = {}
local function note_first(list)
  local id = read(false, 'LINDEX', list, '-1')
  if id then firsts[#firsts + 1] = { id, tonumber(id) or math.huge } end
end

--- When the oldest of them was created. Ids grow with time; jobs of plain clients don't tell when.
local function look_at_oldest()
  local MOST = 10
  table.sort(firsts, function(x, y) return x[2] < y[2] end)
  for i = 1, math.min(MOST, #firsts) do
    oldest = tonumber(read({}, 'HMGET', keys.jobs .. firsts[i][1], 'created')[1] or nil)
    if oldest then return end
  end
end

for i = 5, 7 do note_first(KEYS[i]) end
if limits then
  for _, list in ipairs(lists_of_keys(limits)) do
    waiting[list.priority] = waiting[list.priority] + list.length
    note_first(list.key)
  end
  later = later + call('ZCARD', keys.limits .. 'due')
  full = call('ZCOUNT', limits.space .. 'parked', after, '+inf')
end
look_at_oldest()

local retrying = math.min(later, read(0, 'ZCOUNT', KEYS[8], after, '+inf'))
local ended = {}
for i = 1, 3 do ended[i] = read(0, 'ZCOUNT', KEYS[8 + i], first_kept(KEYS[8 + i], now, ARGV[2]), '+inf') end
local workers = tonumber(read(false, 'GET', KEYS[12]) or nil) or 0
local dead = read(0, 'ZCOUNT', KEYS[13], '-inf', string.format('%.0f', now))
local reply = {
  waiting.high, waiting.normal, waiting.low, later - retrying, retrying, read(0, 'ZCARD', KEYS[3]),
  ended[1], ended[2], ended[3], full, control[1] and 1 or 0, oldest or '', math.max(0, workers - dead),
}
for i, value in ipairs(reply) do reply[i] = type(value) == 'number' and string.format('%.0f', value) or value end
return reply
