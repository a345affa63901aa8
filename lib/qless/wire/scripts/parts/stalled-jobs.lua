-- include lost-locks: lock_lost
-- include history: append_history, history_item
-- include wake-ups: wake
-- include rights: require_rights

--- Takes a running job from its worker at once.
local function stall(jid, queue, worker, when, cap)
  require_rights('HDEL', 'HSET', 'RPUSH', 'ZADD', 'ZREM')
  local key = prefix .. 'j:' .. jid
  append_history(jid, history_item(when, 'timed-out'), cap)
  redis.call('ZREM', prefix .. 'q:' .. queue .. '-locks', jid)
  redis.call('ZREM', prefix .. 'w:' .. worker .. ':jobs', jid)
  redis.call('ZADD', prefix .. 'q:' .. queue .. '-work', '+inf', jid)
  redis.call('HSET', key, 'state', 'stalled', 'expires', 0, 'worker', '')
  redis.call('HDEL', key, 'grace')
  lock_lost(jid, worker)
  wake(queue, 1)
end
