-- include limits: JOBS_A_CALL
-- include number: number
-- include policy: heartbeat_option, grace_period
-- include time-text: now_text

--- How a queue's jobs are claimed now: until when they are locked (`lock` seconds, if not as configured),
--- the grace of expired locks, the length of a history, and how many more may be locked.
local function terms_of(queue, lock)
  local config = redis.call('HMGET', prefix .. 'config', heartbeat_option(queue), 'heartbeat', queue .. '-max-concurrency',
    'grace-period', 'max-job-history')
  local most = number(config[3]) or 0
  return {
    expires = now + (lock or number(config[1]) or number(config[2]) or 60),
    grace = grace_period(config[4]),
    cap = number(config[5]) or 100,
    limited = most > 0,
    room = most > 0 and most - redis.call('ZCOUNT', prefix .. 'q:' .. queue .. '-locks', now_text, '+inf') or JOBS_A_CALL,
  }
end
