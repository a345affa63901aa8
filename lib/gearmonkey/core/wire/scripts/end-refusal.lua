-- Gives end_refusal
-- include refusals: refusal_of

--- Returns an error reply if the user may not write all that the end of a job needs, as finish.lua does: the job would be in
--- no list, or kept without an end. `list` is failed or cancelled.
local function end_refusal(keys, list)
  local fn = string.sub(keys.jobs, #'job:' + 1)
  return refusal_of('HMGET HSET EXPIRE', keys.jobs .. 'x') or refusal_of('ZADD EXPIRE', 'ended:' .. fn .. list)
    or refusal_of('LPUSH EXPIRE', keys.locks .. 'x') or refusal_of('EXISTS ZADD', 'queue:' .. fn .. 'flows')
    or (list == 'cancelled' and refusal_of('ZREM', 'retrying:' .. string.sub(fn, 1, -2)) or nil)
end
