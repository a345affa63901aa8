-- include time-text: now_text
-- include wake-ups: TOKEN_SECONDS

--- Leaves a token with the queue, or renews the one that is there: the next job takes one token, and pushes to the list
--- that the waiters block on.
local function leave_token(queue, waiter)
  local idle = prefix .. 'idlers:' .. queue
  redis.call('ZREMRANGEBYSCORE', idle, '-inf', now_text)
  redis.call('ZADD', idle, now + TOKEN_SECONDS, waiter)
  redis.call('EXPIRE', idle, TOKEN_SECONDS)
end

--- When the next lock expires or the next job is due, which causes no wake-up; nil for never.
local function next_event(queue, now)
  local first
  for _, set in ipairs({ '-locks', '-scheduled', '-recur' }) do
    local found = redis.call('ZRANGEBYSCORE', prefix .. 'q:' .. queue .. set, '(' .. string.format('%.17g', now), '+inf',
      'WITHSCORES', 'LIMIT', 0, 1)
    local score = tonumber(found[2])
    if score and (not first or score < first) then first = score end
  end
  return first
end
