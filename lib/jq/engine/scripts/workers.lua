--[[
  worker:ID  name, max_jobs, url, batch (how many jobs it takes in one push, if several), class, client, registered, seen,
             pinged, failures (pushes in a row), timeouts (jobs without a report since the last one), rests (the
             time until it gets nothing), lost ('1'), pulled ("PULL ID:ATTEMPT": the last job that it was given, by which of its pulls, if it counts them)
  held:ID    jobs handed to it: its slots are counted from this, so that none leaks
  pushing:ID those of them that it has not answered yet
  unknown-names:ID   names it answered 404 for, by the time that is forgotten
  client-workers  client -> how many workers it has
  client-jobs     client -> what their max_jobs add up to
  workers    all of them by when they registered
  with-unknown-names   workers that have some, by when the first is forgotten
  resting    those that rest, by when it ends
  silent     those whose silence counts, by when it has lasted too long
  swept      since when workers can be heard; expires when no master has swept for a while
  gone       lost ones, by when they are forgotten
  leaving    those whose jobs go back, a batch a turn
]]
-- Needs context: text, prefix, settings, call, turn; classes: join_late, leave_class, refill
-- Gives read_worker, rest, offer, take_up, place, place_offered, offer_after_pull, revive, trust, heard, doubled,
--   lose, blame, enrol, remove_worker, knows

local WORKER_ROW = { 'max_jobs', 'url', 'class', 'rests', 'failures', 'lost', 'pinged', 'batch', 'timeouts', 'pulled' }

local function read_worker(worker)
  local known = turn.worker_rows[worker]
  if known then return known end
  local max_jobs, url, class, rests, failures, lost, pinged, batch, timeouts, pulled =
    unpack(call('HMGET', prefix .. 'worker:' .. worker, unpack(WORKER_ROW)))
  if not max_jobs then return nil end
  local worker_row = {
    max_jobs = tonumber(max_jobs), url = url or nil, class = class or join_late(worker), rests = tonumber(rests or 0),
    failures = tonumber(failures or 0), lost = lost == '1', pinged = pinged == '1', batch = batch or '1',
    timeouts = tonumber(timeouts or 0), pulled = pulled or nil,
  }
  turn.worker_rows[worker] = worker_row
  return worker_row
end

--- It gets no jobs until this time.
local function rest(worker, worker_row, time)
  worker_row.rests = time
  call('HSET', prefix .. 'worker:' .. worker, 'rests', text(time))
end

--- Offers it to the dispatch if it takes pushes: before jobs are handed out, once for all changes of a turn.
local function offer(worker)
  local worker_row = read_worker(worker)
  if not worker_row then return end
  if worker_row.url then
    turn.offers[worker] = true
  elseif call('SCARD', prefix .. 'held:' .. worker) == worker_row.max_jobs - 1 then
    turn.news['@' .. worker] = true
  end
end

--- How many jobs it has, and how many of them it has not answered yet. Read only when this turn takes no more from it.
local function load_of(worker)
  local load = turn.loads[worker]
  if not load then
    load = { held = call('SCARD', prefix .. 'held:' .. worker), pushing = call('SCARD', prefix .. 'pushing:' .. worker) }
    turn.loads[worker] = load
  end
  return load
end

--- It gets a job.
local function take_up(worker, id)
  local load = turn.loads[worker]
  local held, pushing = call('SADD', prefix .. 'held:' .. worker, id), call('SADD', prefix .. 'pushing:' .. worker, id)
  if load then load.held, load.pushing = load.held + held, load.pushing + pushing end
end

--- Adds it to the free workers of its class if it is free. True if it is.
local function place(worker, worker_row)
  local free = prefix .. 'free:' .. worker_row.class
  if worker_row.rests > turn.now then
    call('ZADD', prefix .. 'resting', worker_row.rests, worker)
    call('ZREM', free, worker)
    return false
  end
  if worker_row.rests > 0 then call('ZREM', prefix .. 'resting', worker) end
  local load = load_of(worker)
  if load.held < worker_row.max_jobs and load.pushing < settings.max_pushes then
    if call('ZADD', free, load.held / worker_row.max_jobs, worker) == 1 then refill(worker_row.class) end
    return true
  end
  call('ZREM', free, worker)
  return false
end

local function place_offered()
  for worker, stirs in pairs(turn.offers) do
    local worker_row = read_worker(worker)
    if worker_row and place(worker, worker_row) and stirs then turn.stirred_classes[worker_row.class] = true end
  end
end

--- Call this after it got a job: it has no more room than before, so its class need not be dispatched.
local function offer_after_pull(worker, worker_row)
  if worker_row.url then turn.offers[worker] = turn.offers[worker] or false end
end

--[[
  It is there: it was heard of, or took a job. What it took and never reported is not forgiven by that, only by a
  report: where that has made it lost, it stays so, and gets a job now and then to see whether it reports.
]]
local function revive(worker, worker_row, heard_of)
  if worker_row.failures == 0 and not worker_row.lost then return end
  worker_row.failures = 0
  call('HSET', prefix .. 'worker:' .. worker, 'failures', 0)
  if worker_row.timeouts >= settings.lost_after and not heard_of then return end
  worker_row.lost, worker_row.rests = false, 0
  call('HSET', prefix .. 'worker:' .. worker, 'rests', 0, 'lost', 0)
  for _, key in ipairs({ 'gone', 'leaving', 'resting' }) do call('ZREM', prefix .. key, worker) end
  call('ZADD', prefix .. 'silent', 'NX', turn.now + settings.forget_worker, worker)
  offer(worker)
end

--- It has reported a job.
local function trust(worker, worker_row)
  if worker_row.timeouts > 0 then
    worker_row.timeouts, worker_row.lost = 0, true
    call('HDEL', prefix .. 'worker:' .. worker, 'timeouts')
  end
  revive(worker, worker_row, true)
end

--- A worker's own request. Nil for an unknown worker: its pulls that wait get no job any more, and ask again to end.
local function heard(worker, pinged)
  local worker_row = read_worker(worker)
  if not worker_row then
    redis.pcall('PUBLISH', prefix .. 'ready', cjson.encode({ '@' .. worker }))
    return nil
  end
  if pinged and not worker_row.pinged then
    worker_row.pinged, worker_row.is_heard = true, false
    call('HSET', prefix .. 'worker:' .. worker, 'pinged', 1)
  end
  if not worker_row.is_heard then
    worker_row.is_heard = true
    call('HSET', prefix .. 'worker:' .. worker, 'seen', text(turn.now))
    if worker_row.pinged or not worker_row.url then call('ZADD', prefix .. 'silent', turn.now + settings.silence, worker) end
  end
  if worker_row.lost then revive(worker, worker_row, true) end
  return worker_row
end

local function doubled(first, times, cap) return math.min(cap, first * 2 ^ math.min(times, 40)) end

--- Removes it; the next turns give its jobs back.
local function lose(worker, worker_row)
  if worker_row.lost then return end
  worker_row.lost, worker_row.is_heard = true, false
  call('HSET', prefix .. 'worker:' .. worker, 'lost', 1)
  call('ZREM', prefix .. 'silent', worker)
  call('ZADD', prefix .. 'leaving', 0, worker)
  call('ZADD', prefix .. 'gone', turn.now + settings.forget_worker, worker)
  turn.more = true
end

--- Records a failed push or a job that took too long; `what` counts it.
local function blame(worker, what)
  local worker_row = read_worker(worker)
  if not worker_row then return end
  worker_row[what] = worker_row[what] + 1
  local blames = math.max(worker_row.failures, worker_row.timeouts)
  call('HSET', prefix .. 'worker:' .. worker, what, worker_row[what])
  rest(worker, worker_row, turn.now + doubled(settings.suspect, blames - 1, settings.suspect_cap))
  if blames >= settings.lost_after then lose(worker, worker_row) end
  offer(worker)
end

--- Counts a new worker for its client, or returns the limit that the client has reached.
local function enrol(worker, client, max_jobs)
  local workers = tonumber(call('HGET', prefix .. 'client-workers', client) or 0)
  local jobs = tonumber(call('HGET', prefix .. 'client-jobs', client) or 0)
  if workers + 1 > settings.max_client_workers then return 'client workers' end
  if jobs + max_jobs > settings.max_client_jobs then return 'client jobs' end
  call('HINCRBY', prefix .. 'client-workers', client, 1)
  call('HINCRBY', prefix .. 'client-jobs', client, max_jobs)
  call('HSET', prefix .. 'worker:' .. worker, 'client', client)
end

local function disenrol(client, max_jobs)
  if call('HINCRBY', prefix .. 'client-workers', client, -1) > 0 then
    call('HINCRBY', prefix .. 'client-jobs', client, -max_jobs)
  else
    call('HDEL', prefix .. 'client-workers', client)
    call('HDEL', prefix .. 'client-jobs', client)
  end
end

local function remove_worker(worker)
  local class, client, max_jobs = unpack(call('HMGET', prefix .. 'worker:' .. worker, 'class', 'client', 'max_jobs'))
  if client then disenrol(client, max_jobs) end
  for _, key in ipairs({ 'worker:', 'unknown-names:' }) do call('DEL', prefix .. key .. worker) end
  for _, key in ipairs({ 'workers', 'with-unknown-names', 'resting', 'silent', 'gone' }) do call('ZREM', prefix .. key, worker) end
  if class then leave_class(worker, class) end
  turn.worker_rows[worker] = nil
  call('ZADD', prefix .. 'leaving', 0, worker)
  turn.more = true
end

--- False if it has answered recently that it doesn't know the name.
local function knows(worker, worker_row, name)
  if worker_row.knows_all == nil then worker_row.knows_all = call('EXISTS', prefix .. 'unknown-names:' .. worker) == 0 end
  if worker_row.knows_all then return true end
  local forgotten = call('ZSCORE', prefix .. 'unknown-names:' .. worker, name)
  return not forgotten or tonumber(forgotten) <= turn.now
end
