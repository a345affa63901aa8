--[[
  Reads keys of a function's limit that have jobs or are full.

  KEYS[1] control   KEYS[2] prefix of the limits   KEYS[3] prefix of the job hashes   KEYS[4] wake marker
  ARGV[1] now in ms, or ''   ARGV[2] the most keys   ARGV[3] 1 for only the key ARGV[4]
  Returns { key, waiting, running, ms since 1970 from which it may start a job: 0 for now, -1 if that is not known,
  the job that holds it or '' … }; false if the function has no limit.
]]
-- include calls: call
-- include clock: clock
-- include limits: open_limits

local keys = { control = KEYS[1], limits = KEYS[2], jobs = KEYS[3], wake = KEYS[4] }
local now, size = clock(ARGV[1]), tonumber(ARGV[2])

local stored = call('HMGET', keys.control, 'limit', 'override')
local limits = stored[1] and open_limits(keys, now, unpack(stored))
if not limits then return false end

local found, order = {}, {}
local function add(key)
  if not found[key] and #order < size then found[key], order[#order + 1] = true, key end
end

if ARGV[3] == '1' then
  add(ARGV[4])
else
  for _, key in ipairs(call('ZRANGE', limits.space .. 'parked', 0, size - 1)) do add(key) end
  for _, priority in ipairs(limits.PRIORITIES) do
    for _, key in ipairs(call('ZRANGE', keys.limits .. 'ready:' .. priority, 0, size - 1)) do add(key) end
  end
  local places = call('HSCAN', keys.limits .. 'places', '0', 'COUNT', size)[2]
  for i = 2, #places, 2 do add(places[i]) end
  if limits.strict then
    local holders = call('HSCAN', keys.limits .. 'holders', '0', 'COUNT', size)[2]
    for i = 1, #holders, 2 do add(holders[i]) end
  end
end

local reply = {}
for _, key in ipairs(order) do
  local waiting = 0
  for _, priority in ipairs(limits.PRIORITIES) do waiting = waiting + call('LLEN', limits.list_of(key, priority)) end
  local running = call('SCARD', limits.space .. 'running:' .. key)
  local holder = limits.strict and call('HGET', keys.limits .. 'holders', key) or ''
  local time = limits.blocked(key, (limits.next_job(key)))
  if waiting + running > 0 or time then
    local values = { key, waiting, running, time == limits.NEVER and '-1' or string.format('%.0f', time or 0), holder or '' }
    for _, value in ipairs(values) do reply[#reply + 1] = value end
  end
end
return reply
