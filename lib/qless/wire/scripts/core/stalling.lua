-- include lock-lost
-- include history
-- include work
--- Takes a running job from its worker at once.
local function stall(jid, queue, worker, when, cap)
  local key = ql .. 'j:' .. jid
  remember(jid, when, '"timed-out"', cap)
  redis.call('ZREM', ql .. 'q:' .. queue .. '-locks', jid)
  redis.call('ZREM', ql .. 'w:' .. worker .. ':jobs', jid)
  redis.call('ZADD', ql .. 'q:' .. queue .. '-work', '+inf', jid)
  redis.call('HSET', key, 'state', 'stalled', 'expires', 0, 'worker', '')
  redis.call('HDEL', key, 'grace')
  lock_lost(jid, worker)
  wake(queue, 1)
end
