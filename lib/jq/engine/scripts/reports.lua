--- Operations of workers, and outcomes of pushes to them.
-- Needs context: text, write_though_full, refuse_if_full, prefix, settings, call, turn; limits: hold; classes:
--   join_class, ALL; workers: read_worker, rest, offer, revive, trust, heard, doubled, blame, enrol, remove_worker;
--   lifecycle: status_of, detach, finish, put_back, fail, begin, read_handled, HANDED; selection: message_of, obstacle, pull; jobs:
--   ops
-- Gives operations register, unregister, ping, pull, done, answer, confirm, probed

--- Returns 'registered', also when it is already; 'full' when there are too many; 'client workers' or 'client jobs' when
--- its client has too many.
function ops.register(worker, name, max_jobs, url, batch, client, ...)
  if read_worker(worker) then return 'registered' end
  refuse_if_full()
  if call('ZCARD', prefix .. 'workers') >= settings.max_workers then return 'full' end
  local refusal = client ~= '' and enrol(worker, client, tonumber(max_jobs))
  if refusal then return refusal end
  local key = prefix .. 'worker:' .. worker
  call('HSET', key, 'name', name, 'max_jobs', max_jobs, 'registered', text(turn.now), 'seen', text(turn.now))
  if url ~= '' then call('HSET', key, 'url', url) end
  if batch ~= '1' then call('HSET', key, 'batch', batch) end
  join_class(worker, { ... })
  turn.worker_rows[worker] = nil
  call('ZADD', prefix .. 'workers', turn.now, worker)
  heard(worker)
  if url ~= '' then call('ZADD', prefix .. 'silent', turn.now + settings.forget_worker, worker) end
  offer(worker)
  return 'registered'
end

--- 1, or 0 for an unknown worker.
function ops.unregister(worker)
  if not read_worker(worker) then return 0 end
  remove_worker(worker)
  return 1
end

--- 1, or 0 for an unknown worker.
function ops.ping(worker)
  write_though_full()
  return heard(worker, true) and 1 or 0
end

--[[
  A worker counts its pulls, one after the other. What an earlier one took, and has not brought, comes back: its reply was
  lost. Returns false for one that the worker has given up, as a later one has taken a job, and for one that has taken a job
  itself and is sent again by something in between: they take none. Then the job of the latter, while the worker has it.
]]
local function is_current(worker, worker_row, number, got)
  local taken_by, id, attempt = string.match(worker_row.pulled or '', '^(%d+) (.+):(%d+)$')
  taken_by = tonumber(taken_by or 0)
  if taken_by < number then
    if taken_by > got then ops.answer(id, attempt, worker, 'undelivered', '') end
    return true
  end
  local job = taken_by == number and read_handled(id)
  if not job or not HANDED[job.state] or job.worker ~= worker or job.attempt ~= attempt then return false end
  local begun = tonumber(job.begun or 0) - (job.state == 'running' and 1 or 0)
  return false, message_of(id, attempt, job, tostring(begun), worker, worker_row)
end

--[[
  `number` counts the worker's pulls, and `got` is that of the last one that has brought a job; 0 from one that does not count.
  Returns 'job' and what a push holds, which is the worker's once that is accepted; 'more' when there was too much to
  look at; 'stale' when jobs are to be matched with the constraints first; 'full' when it has as many as it may; 'none';
  or 'unknown worker'. Then whose words a request that waits is to listen to: the names that the worker wants.
]]
function ops.pull(worker, number, got)
  write_though_full()
  local worker_row = heard(worker)
  if not worker_row then return { 'unknown worker' } end
  number, got = tonumber(number), tonumber(got)
  local names = worker_row.class ~= ALL and call('SMEMBERS', prefix .. 'class:' .. worker_row.class) or {}
  if number > 0 then
    local current, taken = is_current(worker, worker_row, number, got)
    if taken then return { 'job', names, taken } end
    if not current then return { 'none', names } end
  end
  local job, later, is_full = pull(worker, worker_row)
  if job then
    if number > 0 then
      worker_row.pulled = text(number) .. ' ' .. job[1] .. ':' .. job[2]
      call('HSET', prefix .. 'worker:' .. worker, 'pulled', worker_row.pulled)
    end
    return { 'job', names, job }
  end
  if #turn.stale > 0 then return { 'stale', names } end
  if later then return { 'more', names } end
  call('SET', prefix .. 'pullers', 1, 'PX', settings.longest_poll)
  return { is_full and 'full' or 'none', names }
end

--- Whether this repeats the last accepted report, whose reply was lost.
local function is_repeated(reported, worker, attempt, kind)
  local by, of, as = string.match(reported or '', '^(.-):(%d+):(.*)$')
  return by == worker and as == kind and (attempt == '' or attempt == of)
end

--[[
  A worker's report. `attempt` may be ''. `payload` is the result or the error; an error of nothing is ''.
  Returns 'taken', 'repeated', 'conflict', 'unknown worker' or 'unknown job'.
]]
function ops.done(worker, id, attempt, kind, payload, finished_at, should_retry, message)
  write_though_full()
  local worker_row = heard(worker)
  if not worker_row then return 'unknown worker' end
  local job = read_handled(id)
  if not job then return 'unknown job' end
  local open = job.open or ''
  local is_open = HANDED[job.state] or open ~= ''
  if not is_open or job.worker ~= worker or (attempt ~= '' and attempt ~= job.attempt) then
    return is_repeated(job.reported, worker, attempt, kind) and 'repeated' or 'conflict'
  end
  local report = worker .. ':' .. job.attempt .. ':' .. kind

  local key = prefix .. 'job:' .. id
  detach(id, job)
  if job.state == 'pushing' or open == 'unanswered' then call('HSET', key, 'begun', tonumber(job.begun or 0) + 1) end
  trust(worker, worker_row)
  if finished_at == '' then finished_at = text(turn.now) end
  if kind ~= 'success' then
    fail(id, job, kind, message, payload ~= '' and payload, should_retry == '1', 'reported', report,
      'finished_at', finished_at)
    return 'taken'
  end
  if job.keep == '1' then
    call('HSET', key, 'result', payload)
    call('ZADD', prefix .. 'results', turn.now + settings.unread_result, id)
  end
  finish(id, job, 'done', 'reported', report, 'finished_at', finished_at)
  return 'taken'
end

--- Outcomes of a push. Each takes the job that was pushed and the worker; `detail` is a time or a message, or
--- 'blamed' for all but the first job of a batch that failed as a whole.
local answers = {}

function answers.accepted(id, job, worker, worker_row)
  begin(id, job)
  if worker_row then revive(worker, worker_row) end
end

--- 404: another worker has it.
function answers.unknown_name(id, job, worker, worker_row)
  local unknown = prefix .. 'unknown-names:' .. worker
  if worker_row then
    call('ZADD', unknown, turn.now + settings.forget_missing_name, job.name)
    call('PEXPIRE', unknown, text(settings.forget_missing_name))
    worker_row.knows_all = nil
    call('ZADD', prefix .. 'with-unknown-names', 'NX', turn.now + settings.forget_missing_name, worker)
    revive(worker, worker_row)
  end
  detach(id, job, true)
  put_back(id, job)
end

--- 410: its registration no longer exists.
function answers.gone(id, job, worker, worker_row)
  detach(id, job, true)
  put_back(id, job)
  if worker_row then remove_worker(worker) end
end

--- 429 or 503: it gets no jobs for a while.
function answers.busy(id, job, worker, worker_row, detail)
  if worker_row then
    revive(worker, worker_row)
    rest(worker, worker_row, turn.now + detail)
  end
  detach(id, job, true)
  put_back(id, job)
end

--- A job with unanswered pushes waits longer each time: it may make workers crash.
local FREE_BOUNCES = 3

local function bounce(id, job, open)
  local bounces = tonumber(job.bounces or 0) + 1
  if bounces < FREE_BOUNCES then return put_back(id, job, 'bounces', bounces, 'open', open) end
  local status = status_of(job)
  call('HSET', prefix .. 'job:' .. id, 'state', status, 'bounces', bounces, 'open', open)
  call('ZADD', prefix .. 'delayed', turn.now + doubled(settings.suspect, bounces - FREE_BOUNCES, settings.suspect_cap), id)
end

--- It could not be reached: the job can't have begun.
function answers.refused(id, job, worker, _, detail)
  detach(id, job, true)
  if detail ~= 'blamed' then blame(worker, 'failures') end
  put_back(id, job)
end

--- It answered with an unexpected status.
function answers.broken(id, job, worker, _, detail)
  detach(id, job, true)
  if detail ~= 'blamed' then blame(worker, 'failures') end
  bounce(id, job, '')
end

--- Whether it has begun is unknown.
function answers.silent(id, job, worker, _, detail)
  detach(id, job)
  if detail ~= 'blamed' then blame(worker, 'failures') end
  bounce(id, job, 'unanswered')
end

--- 400: another try would be refused, too.
function answers.invalid(id, job, worker, worker_row, message)
  if worker_row then revive(worker, worker_row) end
  detach(id, job, true)
  fail(id, job, 'refused', message, nil, false)
end

--- A pulled job whose worker disconnected before the reply, or a job that its worker has not begun.
function answers.undelivered(id, job)
  detach(id, job, true)
  local begun = tonumber(job.begun or 0) - (job.state == 'running' and 1 or 0)
  put_back(id, job, 'begun', math.max(0, begun))
end

--- Whether a job that went back runs at its worker after all, and there is room to record this. Without room it
--- stays as it is: its report is accepted until another worker has the job.
local function runs_after_all(worker, worker_row, job)
  if not worker_row or job.open ~= 'unanswered' or HANDED[job.state] then return false end
  return call('SCARD', prefix .. 'held:' .. worker) < worker_row.max_jobs and not obstacle(job.lane)
end

--- 1, or 0 if it was settled otherwise in the meantime, also when this is sent again.
function ops.answer(id, attempt, worker, outcome, detail)
  write_though_full()
  local job = read_handled(id)
  if not job or job.attempt ~= attempt or job.worker ~= worker then return 0 end
  local worker_row = read_worker(worker)
  if outcome == 'undelivered' then
    if HANDED[job.state] then answers.undelivered(id, job) end
    return 1
  end
  if outcome == 'accepted' and job.state == 'running' then return 1 end
  if outcome == 'accepted' and runs_after_all(worker, worker_row, job) then
    detach(id, job)
    call('SADD', prefix .. 'held:' .. worker, id)
    hold(id, job.attempt, job.lane, turn.now)
    begin(id, job)
    revive(worker, worker_row)
    offer(worker)
    return 1
  end
  if job.state ~= 'pushing' then return 0 end
  answers[outcome](id, job, worker, worker_row, detail)
  if outcome == 'busy' then offer(worker) end
  return 1
end

--- Whether a worker may begin a job that it has read late. Its time counts anew then.
function ops.confirm(worker, id, attempt)
  if not heard(worker) or ops.answer(id, attempt, worker, 'accepted') == 0 then return 0 end
  local job = read_handled(id)
  call('HSET', prefix .. 'job:' .. id, 'handed', text(turn.now))
  call('ZADD', prefix .. 'deadlines', turn.now + job.timeout * 1000 + settings.grace, id)
  return 1
end

--- The answer of a silent worker to a probe: 'there', 'gone' for 410, or none in time.
function ops.probed(worker, answer)
  write_though_full()
  local worker_row = read_worker(worker)
  if not worker_row then return 0 end
  if answer == 'there' then
    call('HSET', prefix .. 'worker:' .. worker, 'seen', text(turn.now))
    revive(worker, worker_row)
  elseif answer == 'gone' or worker_row.failures + 1 >= settings.lost_after then
    remove_worker(worker)
  else
    blame(worker, 'failures')
  end
  return 1
end
