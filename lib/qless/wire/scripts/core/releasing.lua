-- include placing
--- Sets a job that no longer depends on any other free: to where its delay says, or to work.
local function release(jid, now)
  local key = ql .. 'j:' .. jid
  local job = redis.call('HMGET', key, 'state', 'queue', 'priority', 'scheduled')
  if job[1] ~= 'depends' then return end
  redis.call('ZREM', ql .. 'q:' .. job[2] .. '-depends', jid)
  local due = tonumber(job[4])
  if due then
    redis.call('HDEL', key, 'scheduled')
    if due <= now then due = nil end
  end
  redis.call('HSET', key, 'state', place(jid, job[2], job[3], now, due, false))
end
