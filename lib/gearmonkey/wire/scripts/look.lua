--[[
  Looks whether functions have work that nobody was told of: jobs of plain clients, scheduled jobs that are
  due, expired leases. Where there is some, the wake marker is set, so that one idle worker claims it.

  KEYS seven a function: leases, scheduled, high, normal, low, wake marker, lookout
  ARGV[1] now in ms, or ''   ARGV[2] worker, or ''   ARGV[3] ms for which it is the lookout, 0 to be it no more
  Returns two for each function: ms until its next scheduled job is due, or -1; 1 if this worker is the lookout,
  else 0.

  One worker is a function's lookout, the first that looks. The others see nothing: each would set the marker
  again until whoever the first had woken has come. Without a worker it is looked in any case.
]]
-- include clock
-- include elected
-- include queues

local now, worker, hold = clock(ARGV[1]), ARGV[2], tonumber(ARGV[3])

--- The lowest score; the protocol knows none below 0.
local function first(key)
  local entry = redis.pcall('ZRANGEBYSCORE', key, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  return not entry.err and entry[2] and tonumber(entry[2]) or nil
end

-- A write that takes no memory: Redis then allows the others though its memory be full.
redis.pcall('LTRIM', KEYS[6], 0, 0)

--- Sets the marker if there is work; returns ms until the next scheduled job is due, or -1.
local function look(leases, scheduled, high, normal, low, wake)
  local expiry, wait = first(leases), next_due(scheduled, now)
  local work = wait == 0 or (expiry and expiry <= now) or is_waiting(high) or is_waiting(normal) or is_waiting(low)
  local set = redis.pcall('LLEN', wake)
  -- Of another type it would keep all from waiting for any of their functions.
  if type(set) ~= 'number' then set = redis.call('DEL', wake) - 1 end
  if work and set == 0 then redis.call('LPUSH', wake, '1') end
  return wait
end

local outlook = {}
for i = 1, #KEYS, 7 do
  local lookout = worker ~= '' and elected(KEYS[i + 6], worker, hold)
  outlook[#outlook + 1] = (lookout or worker == '') and look(unpack(KEYS, i, i + 5)) or -1
  outlook[#outlook + 1] = lookout and 1 or 0
end
return outlook
