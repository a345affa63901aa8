--[=[
  retry <now> jid queue worker [delay [group message]]

  Returns a job that the worker holds to a queue, to run again `delay` seconds from now. This costs one of its
  retries; without any left it fails, as `group` or as failed-retries-<queue>. Where group and message are
  given they are the job's failure in both cases.
  Returns the retries that remain, -1 when it failed. Errors: Job <jid> does not exist, is not currently running, has been
  given to another worker.
]=]
-- include refusals: refuse
-- include place: place
-- include tracked-events: publish_tracked
-- include tracking: is_tracked
-- include failures: exhausted, file_failure
-- include number: number
-- include work-queue: add_queue
-- include failing-rights: require_rights_to_fail
-- include rights: require_rights

local jid, queue, worker, delay, group, message = args[1], args[2], args[3], number(args[4] or 0), args[5], args[6]
if not jid then error('Retry(): Arg "jid" missing') end
if not queue then error('Retry(): Arg "queue" missing') end
if not worker then error('Retry(): Arg "worker" missing') end
if not delay then error('Retry(): Arg "delay" not a number: ' .. tostring(args[4])) end

local key = prefix .. 'j:' .. jid
local job = redis.call('HMGET', key, 'queue', 'state', 'worker', 'priority', 'remaining')
if not job[2] then return refuse('JOB_NOT_FOUND', 'Retry(): Job ' .. jid .. ' does not exist') end
if job[2] ~= 'running' then return refuse('STATE', 'Retry(): Job ' .. jid .. ' is not currently running: ' .. job[2]) end
if job[3] ~= worker then return refuse('JOB_LOST', 'Retry(): Job ' .. jid .. ' has been given to another worker: ' .. job[3]) end

local remaining = math.floor(tonumber(job[5]) or 0) - 1
if remaining < 0 then require_rights_to_fail() end
require_rights('HDEL', 'HSET', 'ZADD', 'ZREM')
redis.call('ZREM', prefix .. 'q:' .. job[1] .. '-locks', jid)
redis.call('ZREM', prefix .. 'w:' .. worker .. ':jobs', jid)
redis.call('HSET', key, 'remaining', remaining)
if remaining < 0 then
  local failure = { group = group or 'failed-retries-' .. queue, message = message, worker = worker }
  if not message then failure = exhausted(failure.group, job[1]) end
  file_failure(jid, job[1], failure, now)
  if is_tracked(jid) then publish_tracked('failed', jid) end
  return remaining
end

add_queue(queue, now)
local state = place(jid, queue, job[4], now, delay > 0 and now + delay or nil, false)
redis.call('HSET', key, 'state', state, 'queue', queue, 'worker', '', 'expires', 0)
redis.call('HDEL', key, 'grace')
if group and message then
  redis.call('HSET', key, 'failure',
    cjson.encode({ group = group, message = message, when = math.floor(now), worker = worker }))
end
return remaining
