--[=[
  priority <now> jid priority

  Sets a job's priority. One that waits changes its place, but not its rank among those of the same priority.
  Returns the priority, cut to an integer. Error: Job <jid> does not exist.
]=]
-- include refusals: refuse
-- include number: number
-- include rights: require_rights

local jid, priority = args[1], number(args[2])
if not jid then error('Priority(): Arg "jid" missing') end
if not priority then error('Priority(): Arg "priority" missing or not a number: ' .. tostring(args[2])) end
local key = prefix .. 'j:' .. jid
local job = redis.call('HMGET', key, 'state', 'queue', 'priority')
if not job[1] then return refuse('JOB_NOT_FOUND', 'Priority(): Job ' .. jid .. ' does not exist') end
require_rights('HSET', 'ZADD', 'ZSCORE')
redis.call('HSET', key, 'priority', priority)
if job[1] == 'waiting' then
  local work = prefix .. 'q:' .. job[2] .. '-work'
  local score = redis.call('ZSCORE', work, jid)
  if score then redis.call('ZADD', work, score + (priority - job[3]), jid) end
end
return priority
