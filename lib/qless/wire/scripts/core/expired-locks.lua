--- Jobs of a queue whose lock has expired, the first ones; those of them that were left over are finished.
local function expired_locks(queue, now, count)
  local expired = redis.call('ZRANGEBYSCORE', ql .. 'q:' .. queue .. '-locks', '-inf', now, 'LIMIT', 0, count)
  if not left_over then return expired end
  local others = {}
  for _, jid in ipairs(expired) do
    local stalling = redis.call('SISMEMBER', ql .. 'stalling', jid) == 1
    if not stalling and not is_cancelling(jid) then others[#others + 1] = jid end
  end
  finish(expired, 0)
  return others
end
