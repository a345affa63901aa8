--[=[
  jobs <now> complete [offset [count=25]]
  jobs <now> running|stalled|scheduled|depends|recurring|waiting queue [offset [count=25]]

  Returns jids: the latest complete first, scheduled and recurring ones by when they are due, waiting ones as they
  would be popped. `waiting` is not in the original. A lock that expires now is running and stalled. Up to 250
  due scheduled jobs become waiting, and none of them is listed.
]=]
-- include limits: JOBS_A_CALL
-- include arguments: integer

local state, at = args[1], 3
if not state then error('Jobs(): Arg "state" missing') end
local queue = args[2]
if state == 'complete' then
  at = 2
elseif not queue then
  error('Jobs(): Arg "queue" missing')
end
local offset, count = integer(args[at] or 0), integer(args[at + 1] or 25)
if not offset then error('Jobs(): Arg "offset" not a number: ' .. tostring(args[at])) end
if not count then error('Jobs(): Arg "count" not a number: ' .. tostring(args[at + 1])) end
local key = prefix .. 'q:' .. (queue or '')
if state == 'complete' then return redis.call('ZREVRANGE', prefix .. 'completed', offset, offset + count - 1) end
if state == 'waiting' then return redis.call('ZREVRANGE', key .. '-work', offset, offset + count - 1) end
if state == 'depends' then return redis.call('ZRANGE', key .. '-depends', offset, offset + count - 1) end
if state == 'recurring' then return redis.call('ZRANGE', key .. '-recur', offset, offset + count - 1) end
if state == 'running' then
  return redis.call('ZRANGEBYSCORE', key .. '-locks', now, '+inf', 'LIMIT', offset, count)
elseif state == 'stalled' then
  return redis.call('ZRANGEBYSCORE', key .. '-locks', '-inf', now, 'LIMIT', offset, count)
elseif state == 'scheduled' then
  -- include scheduled-jobs: promote_due -- at the head +15 % of other states
  promote_due(queue, now, JOBS_A_CALL)
  return redis.call('ZRANGEBYSCORE', key .. '-scheduled', '(' .. string.format('%.17g', now), '+inf', 'LIMIT', offset, count)
end
error('Jobs(): Unknown type "' .. state .. '"')
