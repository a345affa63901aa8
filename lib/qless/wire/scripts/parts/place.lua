-- include placement: placement
-- include wake-ups: wake

--- Puts a job where it belongs: among those that depend, are scheduled or wait. Returns that state.
local function place(jid, queue, priority, now, due, blocked)
  local set, score, state = placement(priority, now, due, blocked)
  redis.call('ZADD', prefix .. 'q:' .. queue .. set, score, jid)
  if not blocked then wake(queue, 1) end
  return state
end
