-- include work
--- Tokens of somebody who died don't stay.
local TOKEN_SECONDS = 10

--- Leaves a token with the queue, or keeps the one that is there: the next job that comes moves one to the list
--- that whoever waits blocks on.
local function await(queue, has_token)
  local idle = ql .. 'idle:' .. queue
  if not has_token then redis.call('RPUSH', idle, '1') end
  redis.call('EXPIRE', idle, TOKEN_SECONDS)
end

--- Takes a token back. One that was moved meanwhile is on the other list, unless somebody took it.
local function withdraw(queue)
  if not redis.call('LPOP', ql .. 'idle:' .. queue) then redis.call('LPOP', ql .. 'wake:' .. queue) end
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
