--[=[
  renew <now> worker lock jid:token…

  Extends the locks of claims, for `lock` seconds or ('') the heartbeat of their queue, clears their grace
  period, and records that the worker was seen.
  Returns the claims that are no longer the worker's.
]=]
-- include policy: heartbeat_option
-- include time-text: now_text
-- include claims: read_claim
-- include number: number
-- include rights: require_rights

local worker, lock, lost, heartbeats = args[1], number(args[2]), {}, {}

local function seconds(queue)
  if lock then return lock end
  if not heartbeats[queue] then
    local config = redis.call('HMGET', prefix .. 'config', heartbeat_option(queue), 'heartbeat')
    heartbeats[queue] = number(config[1]) or number(config[2]) or 60
  end
  return heartbeats[queue]
end

for i = 3, #args do
  local jid, token = string.match(args[i], '^(.*):([^:]*)$')
  local held, queue = read_claim(jid or '', worker, token)
  if held then
    require_rights('HDEL', 'HSET', 'ZADD')
    local expires = string.format('%.17g', now + seconds(queue))
    redis.call('HSET', prefix .. 'j:' .. jid, 'expires', expires)
    redis.call('HDEL', prefix .. 'j:' .. jid, 'grace')
    redis.call('ZADD', prefix .. 'w:' .. worker .. ':jobs', expires, jid)
    redis.call('ZADD', prefix .. 'q:' .. queue .. '-locks', expires, jid)
  else
    lost[#lost + 1] = args[i]
  end
end
if #lost < #args - 2 then redis.call('ZADD', prefix .. 'workers', now_text, worker) end
return lost
