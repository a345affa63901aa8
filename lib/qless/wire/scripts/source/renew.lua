--[=[
  renew <now> worker lock jid:token…

  Extends the locks of claims, for `lock` seconds or ('') the heartbeat of their queue, and clears what was said of
  their having expired; the worker is seen.
  Returns the claims that are no longer the worker's.
]=]
-- include arguments
-- include policy
-- include stamp
-- include claimed
local worker, lock, lost, heartbeats = args[1], number(args[2]), {}, {}

local function seconds(queue)
  if lock then return lock end
  if not heartbeats[queue] then
    local config = redis.call('HMGET', ql .. 'config', heartbeat_option(queue), 'heartbeat')
    heartbeats[queue] = number(config[1]) or number(config[2]) or 60
  end
  return heartbeats[queue]
end

for i = 3, #args do
  local jid, token = string.match(args[i], '^(.*):([^:]*)$')
  local held, queue = claimed(jid or '', worker, token)
  if held then
    local expires = string.format('%.17g', now + seconds(queue))
    redis.call('HSET', ql .. 'j:' .. jid, 'expires', expires)
    redis.call('HDEL', ql .. 'j:' .. jid, 'grace')
    redis.call('ZADD', ql .. 'w:' .. worker .. ':jobs', expires, jid)
    redis.call('ZADD', ql .. 'q:' .. queue .. '-locks', expires, jid)
  else
    lost[#lost + 1] = args[i]
  end
end
if #lost < #args - 2 then redis.call('ZADD', ql .. 'workers', stamp, worker) end
return lost
