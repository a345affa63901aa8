--- Up to `limit` children of recurring jobs that are due, and as many scheduled jobs, go to work. False where a queue
--- has neither.
local function put_due(queue, now, limit)
  local key = ql .. 'q:' .. queue
  if limit <= 0 or redis.call('EXISTS', key .. '-recur', key .. '-scheduled') == 0 then return false end
  -- include recurring
  -- include scheduled
  spawn_due(queue, now, limit)
  promote_due(queue, now, limit)
  return true
end
