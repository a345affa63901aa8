--[=[
  pop <now> queue worker count

  Claims up to `count` jobs (250 at most in one call): locks them for the queue's heartbeat. First those whose
  lock has expired, then children of recurring jobs and scheduled jobs that are due, then waiting jobs: higher
  priority first, then earlier put. A paused queue has none to claim, and max-concurrency limits how many are locked at a
  time. Jobs whose hash is gone are skipped, and named in the server's log.
  Returns the jobs as JSON, {} where there are none.
]=]
-- include limits: JOBS_A_CALL
-- include queue-terms: terms_of
-- include job-locks: log_missing, lock_jobs
-- include expired-locks: expired_locks
-- include deferred-dependents: unblock_deferred
-- include due-jobs: put_due
-- include number: number
-- include jobs-reply: jobs_reply
-- include time-text: now_text
-- include job: read_job
-- include rights: require_rights

local queue, worker, count = args[1], args[2], number(args[3])
if not queue then error('Pop(): Arg "queue" missing') end
if not worker then error('Pop(): Arg "worker" missing') end
if not count then error('Pop(): Arg "count" missing or not a number: ' .. tostring(args[3])) end
if redis.call('SISMEMBER', prefix .. 'paused_queues', queue) == 1 then return jobs_reply({}) end
redis.call('ZADD', prefix .. 'workers', now_text, worker)
unblock_deferred(now)
local terms = terms_of(queue)
count = math.min(math.floor(count), JOBS_A_CALL, terms.room)
if count <= 0 then return jobs_reply({}) end

local jobs = {}
local expired = expired_locks(queue, now_text, count)
if #expired > 0 then
  -- include expired-jobs: take_expired -- at the head +8 % of an empty pop
  local extended
  jobs, extended = take_expired(queue, expired, now, terms.grace)
  if terms.limited then count = count - extended end
end

put_due(queue, now, count - #jobs)
-- Without any other they are put back.
require_rights('HSET', 'ZSCORE')
while #jobs < count do
  local waiting = redis.call('ZPOPMAX', prefix .. 'q:' .. queue .. '-work', count - #jobs)
  if #waiting == 0 then break end
  for i = 1, #waiting, 2 do
    local job = read_job(waiting[i])
    if job then
      jobs[#jobs + 1] = job
    else
      log_missing(waiting[i], queue)
    end
  end
end
if #jobs == 0 then return jobs_reply({}) end

return jobs_reply(lock_jobs(queue, jobs, worker, terms.expires, terms.cap))
