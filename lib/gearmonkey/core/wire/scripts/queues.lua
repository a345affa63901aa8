-- Gives next_due, is_waiting
-- include calls: try

--- Milliseconds until the first job of `scheduled` is due, or -1. The protocol has no scores below 0, and jobs that wait for
--- others have one that never comes.
local function next_due(scheduled, now)
  local first = try('ZRANGEBYSCORE', scheduled, '0', '(9000000000', 'WITHSCORES', 'LIMIT', '0', '1')
  return not first.err and first[2] and math.max(0, math.ceil(first[2] * 1000 - now)) or -1
end

--- Whether a list has any job.
local function is_waiting(queue)
  local length = try('LLEN', queue)
  return type(length) == 'number' and length > 0
end
