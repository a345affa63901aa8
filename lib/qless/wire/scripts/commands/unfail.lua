--[=[
  unfail <now> queue group [count=25]

  The oldest `count` jobs of a group of failures (250 at most in one call) wait again, in that queue and with all
  their retries. Each keeps its failure, which tells what went wrong last, until it is complete.
  Returns how many.
]=]
-- include limits: JOBS_A_CALL
-- include arguments: integer
-- include history: append_history, history_item
-- include work-queue: add_work, add_queue
-- include counters: count_stat
-- include deferred-work: has_deferred, finish_deferred
-- include json: json
-- include rights: require_rights

local queue, group, count = args[1], args[2], integer(args[3] or 25)
if not queue then error('Unfail(): Arg "queue" missing') end
if not group then error('Unfail(): Arg "group" missing') end
if not count then error('Unfail(): Arg "count" not a number: ' .. tostring(args[3])) end
count = math.min(count, JOBS_A_CALL)
if count <= 0 then return 0 end

local key = prefix .. 'f:' .. group
local jids = redis.call('LRANGE', key, -count, -1)
if has_deferred then
  finish_deferred(jids, 0)
  jids = redis.call('LRANGE', key, -count, -1)
end
require_rights('EXISTS', 'HGET', 'HMGET', 'HSET', 'LTRIM', 'RPUSH', 'SREM', 'ZADD')
local unfailed = 0
for i = #jids, 1, -1 do
  local jid = jids[i]
  local job = redis.call('HMGET', prefix .. 'j:' .. jid, 'state', 'queue', 'failure', 'retries', 'priority')
  if job[1] == 'failed' then
    local failure = json(job[3] or '{}')
    count_stat(job[2], tonumber(failure and failure.when) or 0, 'failed', -1)
    append_history(jid, history_item(now, 'put', { q = queue }))
    redis.call('HSET', prefix .. 'j:' .. jid, 'state', 'waiting', 'worker', '', 'expires', 0, 'queue', queue, 'remaining',
      job[4] or 5, 'time', now)
    add_work(queue, job[5], now, jid)
    unfailed = unfailed + 1
  end
end
redis.call('LTRIM', key, 0, -count - 1)
if redis.call('EXISTS', key) == 0 then redis.call('SREM', prefix .. 'failures', group) end
if unfailed > 0 then add_queue(queue, now) end
return unfailed
