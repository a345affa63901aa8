--[[
  Looks whether functions have work that nobody was told of: jobs of plain clients, scheduled jobs that are
  due, expired leases. Where there is some, the wake marker is set, so that one idle worker claims it.

  KEYS six a function: leases, scheduled, high, normal, low, wake marker   ARGV[1] now in ms, or ''
  Returns for each function ms until its next scheduled job is due, or -1.
]]
-- include clock

local now = clock(ARGV[1])

--- The lowest score; the protocol knows none below 0.
local function first(key)
  local entry = redis.pcall('ZRANGEBYSCORE', key, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  return not entry.err and entry[2] and tonumber(entry[2]) or nil
end

local function waits(key)
  local length = redis.pcall('LLEN', key)
  return type(length) == 'number' and length > 0
end

local outlook = {}
for i = 1, #KEYS, 6 do
  local expiry, due = first(KEYS[i]), first(KEYS[i + 1])
  local wait = due and math.max(0, math.ceil(due * 1000 - now)) or -1
  local work = wait == 0 or (expiry and expiry <= now) or waits(KEYS[i + 2]) or waits(KEYS[i + 3]) or waits(KEYS[i + 4])
  if work then
    -- A write that takes no memory: Redis then allows the other though its memory be full.
    redis.call('LTRIM', KEYS[i + 5], 0, 0)
    if redis.call('EXISTS', KEYS[i + 5]) == 0 then redis.call('LPUSH', KEYS[i + 5], '1') end
  end
  outlook[#outlook + 1] = wait
end
return outlook
