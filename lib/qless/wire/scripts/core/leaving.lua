--- Takes a job out of its queue, wherever in it it is.
local function leave(jid, queue)
  local key = ql .. 'q:' .. queue
  redis.call('ZREM', key .. '-work', jid)
  redis.call('ZREM', key .. '-locks', jid)
  redis.call('ZREM', key .. '-scheduled', jid)
  redis.call('ZREM', key .. '-depends', jid)
end
