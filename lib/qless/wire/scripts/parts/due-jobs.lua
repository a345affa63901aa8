--- Up to `limit` children of due recurring jobs, and as many due scheduled jobs, become waiting. False where a queue has
--- neither.
local function put_due(queue, now, limit)
  local key = prefix .. 'q:' .. queue
  if limit <= 0 or redis.call('EXISTS', key .. '-recur', key .. '-scheduled') == 0 then return false end
  -- include recurring-jobs: spawn_due -- at the head +5 % of an empty pop
  -- include scheduled-jobs: promote_due -- at the head +2 % of an empty pop
  spawn_due(queue, now, limit)
  promote_due(queue, now, limit)
  return true
end
