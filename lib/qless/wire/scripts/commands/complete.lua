--[=[
  complete <now> jid worker queue data [next q [delay d] [depends J]]

  Completes a job that the worker holds, whether or not its lock has expired. With `next` it moves on to that queue at once,
  after `delay` seconds, or when the jobs of `depends` are complete. Otherwise jobs that depend on it are unblocked,
  250 in this call and the rest in later ones, and up to 200 complete jobs are deleted that are beyond
  jobs-history and jobs-history-count.
  Returns the job's state: complete, waiting, scheduled or depends. Errors: Job <jid> does not exist, is not currently
  running, has been handed out to another worker, running in another queue.
]=]
-- include number: number
-- include json: json
-- include refusals: refuse
-- include tracked-events: publish_tracked
-- include job-events: publish_job
-- include tracking: is_tracked
-- include history: append_history, history_item
-- include samples: record_one
-- include completion: objection, write_complete, prune_completed
-- include rights: require_rights
-- include time-text: now_text

local jid, worker, queue, data = args[1], args[2], args[3], args[4]
if not jid then error('Complete(): Arg "jid" missing') end
if not worker then error('Complete(): Arg "worker" missing') end
if not queue then error('Complete(): Arg "queue" missing') end
if json(data) == nil then error('Complete(): Arg "data" missing or not JSON: ' .. tostring(data)) end
local target, delay, depends = nil, 0, {}
if #args > 4 then
  -- include arguments: options, strings -- at the head +1.5 %, with the next
  -- include limits: at_most, MOST_NAMED -- as arguments
  local given = options(args, 5)
  target, delay = given.next, number(given.delay or 0)
  if not delay then error('Complete(): Arg "delay" not a number: ' .. given.delay) end
  depends = strings(given.depends or '[]')
  if not depends then error('Complete(): Arg "depends" not JSON: ' .. given.depends) end
  at_most(MOST_NAMED, #depends, 'Complete', 'dependencies a call')
  if given.delay and not target then error('Complete(): "delay" cannot be used without a "next".') end
  if given.depends and not target then error('Complete(): "depends" cannot be used without a "next".') end
end

local key = prefix .. 'j:' .. jid
local job = redis.call('HMGET', key, 'worker', 'state', 'queue', 'retries', 'time', 'grace', 'priority')
local code, why = objection(jid, job, worker, queue)
if code then return refuse(code, why) end
local is_awaited = not target and redis.call('EXISTS', key .. '-dependents', prefix .. 'unlocking') > 0
require_rights('HSET', 'ZADD', 'ZREM')
if job[6] then require_rights('HDEL') end
if target then require_rights('EXISTS', 'SADD', 'SREM', 'ZMSCORE') end
if is_awaited then
  -- include unblocking-rights: require_rights_to_unblock -- as dependents
  require_rights_to_unblock()
end

local config = redis.call('HMGET', prefix .. 'config', 'max-job-history', 'jobs-history-count', 'jobs-history')
local cap = number(config[1]) or 100
append_history(jid, history_item(now, 'done'), cap)
redis.call('ZREM', prefix .. 'q:' .. queue .. '-locks', jid)
redis.call('ZREM', prefix .. 'w:' .. worker .. ':jobs', jid)
if job[6] then redis.call('HDEL', key, 'grace') end
record_one('run', queue, now, now - (tonumber(job[5]) or now))
if is_tracked(jid) then publish_tracked('completed', jid) end

if target then
  -- include events: publish -- as place
  -- include place: place -- at the head +5 %, with these
  -- include work-queue: add_queue -- as place
  -- include dependencies: depend -- as place
  publish('log', { jid = jid, event = 'advanced', queue = queue, to = target })
  append_history(jid, history_item(now, 'put', { q = target }), cap)
  add_queue(target, now)
  local blocked = depend(jid, depends)
  local due = delay > 0 and now + delay or nil
  local state = place(jid, target, job[7], now, due, blocked)
  if blocked and due then redis.call('HSET', key, 'scheduled', due) end
  redis.call('HSET', key, 'data', data, 'time', now_text, 'state', state, 'worker', '', 'failure', '{}', 'queue', target,
    'expires', 0, 'remaining', job[4])
  return state
end

publish_job('completed', jid, queue)
write_complete(key, data, job[4])
redis.call('ZADD', prefix .. 'completed', now_text, jid)
prune_completed(now, config[3], config[2], 1)
if is_awaited then
  -- include dependents: unblock_more, unblock_dependents, UNBLOCKED_A_CALL -- at the head +3.5 %
  unblock_more(now)
  unblock_dependents(jid, now, UNBLOCKED_A_CALL)
end
return 'complete'
