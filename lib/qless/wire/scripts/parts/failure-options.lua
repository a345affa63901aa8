-- include json: json
-- include number: number

--- Options beyond the original's: dependents that run in spite of a failure, and failures that expire.
local function after_failure(jid, group, now)
  local wishes = redis.call('HMGET', prefix .. 'config', 'unlock-on-failure', 'failed-history')
  if wishes[1] == '1' then
    -- include dependents: unblock_dependents, UNBLOCKED_A_CALL -- at the head +2.5 % of fail
    unblock_dependents(jid, now, UNBLOCKED_A_CALL)
  end
  local history = number(wishes[2])
  if not history then return end
  -- include deletion: delete_jobs -- at the head +2.5 % of fail
  local key = prefix .. 'f:' .. group
  for _ = 1, 100 do
    local oldest = redis.call('LINDEX', key, -1)
    if not oldest or oldest == jid then return end
    local failure = json(redis.call('HGET', prefix .. 'j:' .. oldest, 'failure') or '{}')
    if (tonumber(failure and failure.when) or 0) > now - history then return end
    if redis.call('EXISTS', prefix .. 'j:' .. oldest .. '-dependents') == 1 then return end
    redis.call('RPOP', key)
    delete_jobs({ oldest })
  end
end
