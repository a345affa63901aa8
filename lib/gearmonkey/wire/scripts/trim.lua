--[[
  Removes entries from the lists of ended jobs whose jobs have expired, and those of retries that are due.

  KEYS four per function: its lists success, failed and cancelled, retries
  ARGV[1] now in ms, or ''   ARGV[2] ms for which ended jobs are kept   ARGV[3] most entries that are removed of each
  Returns 1 if there may be more, else 0.

  The lists expire an hour after their last entry may be shown, in case that no worker trims them any more.
]]
-- include clock

local pcall = redis.pcall
if redis.call('EXISTS', unpack(KEYS)) == 0 then return 0 end

local now, kept, step = clock(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local more = 0

local function trim(key, time)
  local old = pcall('ZRANGEBYSCORE', key, '-inf', string.format('%.0f', time), 'LIMIT', '0', step)
  if old.err or #old == 0 then return end
  pcall('ZREM', key, unpack(old))
  if #old == tonumber(step) then more = 1 end
end

for i = 1, #KEYS, 4 do
  for list = i, i + 2 do
    trim(KEYS[list], now - kept)
    pcall('EXPIRE', KEYS[list], string.format('%.0f', kept / 1000 + 3600))
  end
  trim(KEYS[i + 3], now)
end
return more
