--[[
  Removes entries from the lists of ended jobs whose jobs have expired, and those of retries that are due.

  KEYS[1] to KEYS[3] lists of ended jobs   KEYS[4] retries
  ARGV[1] now in ms, or ''   ARGV[2] ms for which ended jobs are kept   ARGV[3] most entries that are removed of each
  Returns 1 if there may be more, else 0.

  The lists expire an hour after their last entry may be shown, in case that no worker trims them any more.
]]
-- include clock

local pcall = redis.pcall
local now, kept, step = clock(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local more = 0

local function trim(key, time)
  local old = pcall('ZRANGEBYSCORE', key, '-inf', string.format('%.0f', time), 'LIMIT', '0', step)
  if old.err or #old == 0 then return end
  pcall('ZREM', key, unpack(old))
  if #old == step then more = 1 end
end

for i = 1, 3 do
  trim(KEYS[i], now - kept)
  pcall('EXPIRE', KEYS[i], string.format('%.0f', kept / 1000 + 3600))
end
trim(KEYS[4], now)
return more
