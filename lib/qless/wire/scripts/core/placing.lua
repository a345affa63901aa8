-- include placed
-- include work
--- Puts a job where it belongs: among those that depend, are scheduled or wait. Returns that state.
local function place(jid, queue, priority, now, due, blocked)
  local set, score, state = placed(priority, now, due, blocked)
  redis.call('ZADD', ql .. 'q:' .. queue .. set, score, jid)
  if not blocked then wake(queue, 1) end
  return state
end
