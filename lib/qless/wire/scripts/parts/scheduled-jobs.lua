-- include chunks: in_chunks
-- include wake-ups: wake
-- include rights: require_rights

--- Up to `limit` due scheduled jobs become waiting.
local function promote_due(queue, now, limit)
  if limit <= 0 then return end
  local key = prefix .. 'q:' .. queue
  local due = redis.call('ZRANGEBYSCORE', key .. '-scheduled', '-inf', now, 'LIMIT', 0, limit)
  if #due == 0 then return end
  require_rights('HGET', 'HSET', 'ZADD', 'ZREM')
  local scores = {}
  for _, jid in ipairs(due) do
    local priority = redis.call('HGET', prefix .. 'j:' .. jid, 'priority')
    if priority then
      redis.call('HSET', prefix .. 'j:' .. jid, 'state', 'waiting')
      scores[#scores + 1] = priority - now / 10000000000
      scores[#scores + 1] = jid
    else
      redis.log(redis.LOG_WARNING, 'qless: scheduled job ' .. jid .. ' of queue ' .. queue .. ' has no hash')
    end
  end
  in_chunks('ZREM', key .. '-scheduled', due)
  if #scores == 0 then return end
  in_chunks('ZADD', key .. '-work', scores)
  wake(queue, #scores / 2)
end
