--[[
  A job's hash, job:ID:
    name, argument, priority, max_retry, keep, timeout (s), lane, enqueued
    state      queued, pushing (to a worker that has not answered), running, retrying (waits to be tried
               again), done, error
    attempt    how often it was handed out; fences each off from the ones before
    begun      how often a worker took it
    failures   how often it failed;  losses: how often its worker was lost;  bounces: unanswered pushes
    worker     who has it, or had it last;  handed: when it was handed out
    ran        who ran it last, where that attempt came to nothing and it waits for another
    open       'unanswered' or 'lost': back in its lane, but its last worker may be running it and may still
               report, until another has it
    reported   "worker:attempt:type" of the last report that was taken
    bytes      of its argument, where that is large
    ended, finished_at, result, error, message, read (when its result was first read), awaited
    attempt:N  JSON of how attempt N came to nothing

  deadlines: jobs that are pushed or run, by when that has taken too long. delayed: jobs to be tried again, by
  when. results: kept results, by when they are dropped.
]]
-- Needs context: count, text, read_fields, file, prefix, settings, call, turn; room: forget_bytes; lanes: queue,
--   unqueue; limits: let_go; workers: offer, doubled
-- Gives status_of, worker_of, tell, detach, finish, put_back, fail, give_back, begin, read_handled, HANDED,
--   ENDED

local HANDED = { pushing = true, running = true }
local ENDED = { done = true, error = true }
local MAX_ATTEMPTS_KEPT = 20
-- People are shown less: a pattern that hides secrets finds those that end behind it.
local MAX_MESSAGE_BYTES = 16000

--- The status that clients see: a job that is being pushed waits until its worker has answered.
local function status_of(job)
  if job.state ~= 'pushing' then return job.state end
  return tonumber(job.failures or 0) > 0 and 'retrying' or 'queued'
end

--- The worker that has it or ran it last, as clients see it; '' if there is none.
local function worker_of(job)
  if ENDED[job.state] or job.state == 'running' then return job.worker or '' end
  return status_of(job) == 'retrying' and job.ran or ''
end

local function tell(id)
  redis.pcall('PUBLISH', prefix .. 'ended', id)
end

local function note_attempt(id, job, outcome, message)
  local n = tonumber(job.attempt)
  local note = { worker = job.worker, handed = tonumber(job.handed), ended = turn.now, outcome = outcome }
  if message then note.message = string.sub(message, 1, MAX_MESSAGE_BYTES) end
  call('HSET', prefix .. 'job:' .. id, 'attempt:' .. n, cjson.encode(note))
  if n > MAX_ATTEMPTS_KEPT then call('HDEL', prefix .. 'job:' .. id, 'attempt:' .. (n - MAX_ATTEMPTS_KEPT)) end
end

--- Takes it from its worker, or from the lane that it waits in.
local function detach(id, job, unbegun)
  if HANDED[job.state] then
    call('ZREM', prefix .. 'deadlines', id)
    call('SREM', prefix .. 'held:' .. job.worker, id)
    if job.state == 'pushing' then call('SREM', prefix .. 'pushing:' .. job.worker, id) end
    let_go(id, job.attempt, job.lane, unbegun)
    offer(job.worker)
  else
    call('ZREM', prefix .. 'delayed', id)
    unqueue(id, job.lane)
  end
end

--- Ends a job that is detached. Its hash stays as a tombstone.
local function finish(id, job, status, ...)
  local key = prefix .. 'job:' .. id
  call('HSET', key, 'state', status, 'ended', text(turn.now), 'open', '', ...)
  if status == 'done' then
    if job.bytes then forget_bytes(id) end
    call('HDEL', key, 'argument', 'error', 'message')
  end
  file(id, job.name, status_of(job), status)
  count(status)
  if job.awaited then tell(id) end
end

--- Puts it back into its lane: its status says whether it has failed before.
local function put_back(id, job, ...)
  local state = tonumber(job.failures or 0) > 0 and 'retrying' or 'queued'
  call('HSET', prefix .. 'job:' .. id, 'state', state, ...)
  file(id, job.name, status_of(job), state)
  queue(id, job.lane, job.priority)
end

--- A failure uses a retry. The wait is random, so that jobs that failed together are not retried together.
local function fail(id, job, outcome, message, failure, should_retry, ...)
  local failures = tonumber(job.failures or 0) + 1
  note_attempt(id, job, outcome, message)
  if outcome == 'timeout' then count('timed_out') end
  local key = prefix .. 'job:' .. id
  call('HSET', key, 'failures', failures, 'message', message, ...)
  if failure then call('HSET', key, 'error', failure) else call('HDEL', key, 'error') end
  if not should_retry or failures > tonumber(job.max_retry) then
    return finish(id, job, 'error')
  end
  local wait = doubled(settings.backoff, failures - 1, settings.backoff_cap) * (0.5 + math.random() / 2)
  call('HSET', key, 'state', 'retrying', 'open', '', 'ran', job.worker)
  file(id, job.name, status_of(job), 'retrying')
  call('ZADD', prefix .. 'delayed', turn.now + wait, id)
  count('retried')
end

--- Its worker is lost or has left. This uses no retry, but it has its own limit.
local function give_back(id, job, lost)
  detach(id, job, false)
  local losses = tonumber(job.losses or 0) + (lost and 1 or 0)
  local message = 'its worker was lost'
  note_attempt(id, job, 'lost', message)
  count('lost')
  if losses > settings.max_losses then
    message = message .. ' ' .. losses .. ' times'
    return finish(id, job, 'error', 'losses', losses, 'message', message)
  end
  local open = job.state == 'pushing' and 'unanswered' or 'lost'
  local ran = job.state == 'running' and job.worker or job.ran or ''
  put_back(id, job, 'losses', losses, 'open', lost and open or '', 'ran', ran)
end

--- A worker has accepted it: its timeout counts from the hand-out.
local function begin(id, job)
  call('HSET', prefix .. 'job:' .. id, 'state', 'running', 'open', '', 'begun', tonumber(job.begun or 0) + 1)
  call('ZADD', prefix .. 'deadlines', job.handed + job.timeout * 1000 + settings.grace, id)
  file(id, job.name, status_of(job), 'running')
  local pushing = prefix .. 'pushing:' .. job.worker
  if call('SREM', pushing, id) == 1 and call('SCARD', pushing) == settings.max_pushes - 1 then offer(job.worker) end
end

local HANDLED = { 'name', 'state', 'priority', 'lane', 'worker', 'attempt', 'handed', 'failures', 'losses', 'bounces',
  'max_retry', 'timeout', 'begun', 'keep', 'open', 'reported', 'awaited', 'ran', 'bytes' }

local function read_handled(id) return read_fields(id, HANDLED) end
