-- include work
--- Leaves a token with the queue, or renews the one that is there: the next job that comes takes one, and pushes to the
--- list that whoever waits blocks on.
local function await(queue, waiter)
  local idle = ql .. 'idlers:' .. queue
  redis.call('ZREMRANGEBYSCORE', idle, '-inf', stamp)
  redis.call('ZADD', idle, now + TOKEN_SECONDS, waiter)
  redis.call('EXPIRE', idle, TOKEN_SECONDS)
end

--- When the next lock ends or the next job is due that no job put later will announce; nil for never.
local function next_event(queue, now)
  local first
  for _, set in ipairs({ '-locks', '-scheduled', '-recur' }) do
    local found = redis.call('ZRANGEBYSCORE', ql .. 'q:' .. queue .. set, '(' .. string.format('%.17g', now), '+inf',
      'WITHSCORES', 'LIMIT', 0, 1)
    local score = tonumber(found[2])
    if score and (not first or score < first) then first = score end
  end
  return first
end
