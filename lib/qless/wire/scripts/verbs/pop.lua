--[=[
  pop <now> queue worker count

  Hands out up to `count` jobs (250 at most in one call) and locks them for the queue's heartbeat. First those whose
  lock has expired, then children of recurring jobs and scheduled jobs that are due, then what waits: higher
  priority first, then earlier put. A paused queue gives none, and max-concurrency limits how many are locked at a
  time. Jobs whose hash is gone are passed over and named in the server's log.
  Returns the jobs as JSON, {} where there are none.
]=]
-- include limit
-- include arguments
-- include terms
-- include handing-out
-- include expired-locks
-- include unlocking-left
-- include due
local queue, worker, count = args[1], args[2], number(args[3])
if not queue then error('Pop(): Arg "queue" missing') end
if not worker then error('Pop(): Arg "worker" missing') end
if not count then error('Pop(): Arg "count" missing or not a number: ' .. tostring(args[3])) end
if redis.call('SISMEMBER', ql .. 'paused_queues', queue) == 1 then return jobs_reply({}) end
redis.call('ZADD', ql .. 'workers', stamp, worker)
unlock_left(now)
local terms = terms_of(queue)
count = math.min(math.floor(count), JOBS_A_CALL, terms.room)
if count <= 0 then return jobs_reply({}) end

local jobs = {}
local expired = expired_locks(queue, stamp, count)
if #expired > 0 then
  -- include expired
  local extended
  jobs, extended = take_expired(queue, expired, now, terms.grace)
  if terms.limited then count = count - extended end
end

put_due(queue, now, count - #jobs)
while #jobs < count do
  local waiting = redis.call('ZPOPMAX', ql .. 'q:' .. queue .. '-work', count - #jobs)
  if #waiting == 0 then break end
  for i = 1, #waiting, 2 do
    local job = read_job(waiting[i])
    if job then
      jobs[#jobs + 1] = job
    else
      missing(waiting[i], queue)
    end
  end
end
if #jobs == 0 then return jobs_reply({}) end

return jobs_reply(hand_out(queue, jobs, worker, terms.expires, terms.cap))
