-- include deferred-work: has_deferred, is_cancelling, finish_deferred

--- The first jobs of a queue whose lock has expired, after deferred work on them is done.
local function expired_locks(queue, now, count)
  local expired = redis.call('ZRANGEBYSCORE', prefix .. 'q:' .. queue .. '-locks', '-inf', now, 'LIMIT', 0, count)
  if not has_deferred then return expired end
  local others = {}
  for _, jid in ipairs(expired) do
    local stalling = redis.call('SISMEMBER', prefix .. 'stalling', jid) == 1
    if not stalling and not is_cancelling(jid) then others[#others + 1] = jid end
  end
  finish_deferred(expired, 0)
  return others
end
