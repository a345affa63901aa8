--[[
  worker:ID  name, max_jobs, url, batch (how many jobs it takes in one push, if several), class, client, registered, seen,
             pinged, failures (pushes in a row), timeouts (jobs without a report since the last one), rests (the
             time until it gets nothing), lost ('1')
  held:ID    jobs handed to it: its slots are counted from this, so that none leaks
  pushing:ID those of them that it has not answered yet
  lacks:ID   names it answered 404 for, by the time that is forgotten
  client-workers  client -> how many workers it has
  client-jobs     client -> what their max_jobs add up to
  workers    all of them by when they registered
  lacking    those that lack names, by when the first is to be asked again
  resting    those that rest, by when it ends
  silent     those whose silence counts, by when it has lasted too long
  gone       lost ones, by when they are forgotten
  leaving    those whose jobs go back, a batch a turn

  Workers that want the same names are a class: a digest of the names, or "*" for those that want all.

  class:CLASS    the names
  members:CLASS  its workers
  free:CLASS     those of them to push to, by how full they are
  classes:NAME   classes that want the name, but for those in which nobody was free when that was looked for
  dry:CLASS      the names in whose list it is missing for that reason
]]
local ALL = '*'

--- What workers that want these names are called together, and the names, each once.
local function class_of(wanted)
  if #wanted == 0 then return ALL, {} end
  local seen, names = {}, {}
  for _, name in ipairs(wanted) do
    if not seen[name] then names[#names + 1] = name end
    seen[name] = true
  end
  table.sort(names)
  return redis.sha1hex(cmsgpack.pack(names)), names
end

local function join_class(worker, wanted)
  local class, names = class_of(wanted)
  call('HSET', P .. 'worker:' .. worker, 'class', class)
  call('SADD', P .. 'members:' .. class, worker)
  if class == ALL or call('EXISTS', P .. 'class:' .. class) == 1 then return class end
  for _, name in ipairs(names) do
    call('SADD', P .. 'class:' .. class, name)
    call('ZADD', P .. 'classes:' .. name, 0, class)
  end
  return class
end

--- One that registered before there were classes had its names in a set of its own.
local function join_late(worker)
  local names = P .. 'names:' .. worker
  local class = join_class(worker, call('SMEMBERS', names))
  call('DEL', names)
  return class
end

local function read_worker(worker)
  local key = P .. 'worker:' .. worker
  local w = call('HMGET', key, 'max_jobs', 'url', 'class', 'rests', 'failures', 'lost', 'pinged', 'batch', 'timeouts')
  if not w[1] then return nil end
  w[3] = w[3] or join_late(worker)
  return {
    max_jobs = tonumber(w[1]), url = w[2] or nil, class = w[3], rests = tonumber(w[4] or 0),
    failures = tonumber(w[5] or 0), lost = w[6] == '1', pinged = w[7] == '1', batch = w[8] or '1',
    timeouts = tonumber(w[9] or 0),
  }
end

local function leave_class(worker, class)
  call('ZREM', P .. 'free:' .. class, worker)
  call('SREM', P .. 'members:' .. class, worker)
  if class == ALL or call('EXISTS', P .. 'members:' .. class) == 1 then return end
  for _, name in ipairs(call('SMEMBERS', P .. 'class:' .. class)) do call('ZREM', P .. 'classes:' .. name, class) end
  call('DEL', P .. 'class:' .. class, P .. 'dry:' .. class)
end

--- A worker of the class is free again: names whose lists it was taken from have it back.
local function refill(class)
  local dry = P .. 'dry:' .. class
  local names = call('SMEMBERS', dry)
  if #names == 0 then return end
  for _, name in ipairs(names) do call('ZADD', P .. 'classes:' .. name, 0, class) end
  call('DEL', dry)
end

--- Offers it to the dispatch if it may be pushed to. `taking`: it has just got a job, so there is no more room than before.
local function offer(worker, taking)
  local w = read_worker(worker)
  if not w then return end
  local held = call('SCARD', P .. 'held:' .. worker)
  if not w.url then
    if not taking and held == w.max_jobs - 1 then news['@' .. worker] = true end
    return
  end
  local free = P .. 'free:' .. w.class
  if w.rests > now then
    call('ZADD', P .. 'resting', w.rests, worker)
    call('ZREM', free, worker)
    return
  end
  if w.rests > 0 then call('ZREM', P .. 'resting', worker) end
  if held < w.max_jobs and call('SCARD', P .. 'pushing:' .. worker) < settings.max_pushes then
    if call('ZADD', free, held / w.max_jobs, worker) == 1 then refill(w.class) end
    if not taking then stirred_classes[w.class] = true end
  else
    call('ZREM', free, worker)
  end
end

--[[
  It is there: it was heard of, or took a job. What it took and never reported is not forgiven by that, only by a
  report: where that has made it lost, it stays so, and gets a job now and then to see whether it reports.
]]
local function revive(worker, w, heard_of)
  if w.failures == 0 and not w.lost then return end
  w.failures = 0
  call('HSET', P .. 'worker:' .. worker, 'failures', 0)
  if w.timeouts >= settings.lost_after and not heard_of then return end
  w.lost, w.rests = false, 0
  call('HSET', P .. 'worker:' .. worker, 'rests', 0, 'lost', 0)
  call('ZREM', P .. 'gone', worker)
  call('ZREM', P .. 'leaving', worker)
  call('ZADD', P .. 'silent', 'NX', now + settings.forget_worker, worker)
  offer(worker)
end

--- It has reported a job.
local function trust(worker, w)
  if w.timeouts > 0 then
    w.timeouts, w.lost = 0, true
    call('HDEL', P .. 'worker:' .. worker, 'timeouts')
  end
  revive(worker, w, true)
end

--- A request of its own. Nil for a worker that nobody knows.
local function heard(worker, pinged)
  local w = read_worker(worker)
  if not w then return nil end
  call('HSET', P .. 'worker:' .. worker, 'seen', text(now))
  if pinged and not w.pinged then
    w.pinged = true
    call('HSET', P .. 'worker:' .. worker, 'pinged', 1)
  end
  if w.pinged or not w.url then call('ZADD', P .. 'silent', now + settings.silence, worker) end
  if w.lost then revive(worker, w, true) end
  return w
end

local function doubled(first, times, cap) return math.min(cap, first * 2 ^ math.min(times, 40)) end

--- Its jobs go back with the turns that follow.
local function lose(worker, w)
  if w.lost then return end
  call('HSET', P .. 'worker:' .. worker, 'lost', 1)
  call('ZREM', P .. 'silent', worker)
  call('ZADD', P .. 'leaving', 0, worker)
  call('ZADD', P .. 'gone', now + settings.forget_worker, worker)
  more = true
end

--- A push that failed, or a job that took too long: `what` counts it.
local function blame(worker, what)
  local w = read_worker(worker)
  if not w then return end
  w[what] = w[what] + 1
  local blames = math.max(w.failures, w.timeouts)
  local rests = now + doubled(settings.suspect, blames - 1, settings.suspect_cap)
  call('HSET', P .. 'worker:' .. worker, what, w[what], 'rests', text(rests))
  if blames >= settings.lost_after then lose(worker, w) end
  offer(worker)
end

--- Counts a worker that registers as its client's; else says of what that has too many.
local function enrol(worker, client, max_jobs)
  local workers = tonumber(call('HGET', P .. 'client-workers', client) or 0)
  local jobs = tonumber(call('HGET', P .. 'client-jobs', client) or 0)
  if workers + 1 > settings.max_client_workers then return 'client workers' end
  if jobs + max_jobs > settings.max_client_jobs then return 'client jobs' end
  call('HINCRBY', P .. 'client-workers', client, 1)
  call('HINCRBY', P .. 'client-jobs', client, max_jobs)
  call('HSET', P .. 'worker:' .. worker, 'client', client)
end

local function disenrol(client, max_jobs)
  if call('HINCRBY', P .. 'client-workers', client, -1) > 0 then
    call('HINCRBY', P .. 'client-jobs', client, -max_jobs)
  else
    call('HDEL', P .. 'client-workers', client)
    call('HDEL', P .. 'client-jobs', client)
  end
end

local function remove_worker(worker)
  local class, client, max_jobs = unpack(call('HMGET', P .. 'worker:' .. worker, 'class', 'client', 'max_jobs'))
  if client then disenrol(client, max_jobs) end
  for _, key in ipairs({ 'worker:', 'lacks:' }) do call('DEL', P .. key .. worker) end
  for _, key in ipairs({ 'workers', 'lacking', 'resting', 'silent', 'gone' }) do call('ZREM', P .. key, worker) end
  if class then leave_class(worker, class) end
  call('ZADD', P .. 'leaving', 0, worker)
  more = true
end

--- Whether it has not answered lately that it lacks the name.
local function has(worker, w, name)
  if w.complete == nil then w.complete = call('EXISTS', P .. 'lacks:' .. worker) == 0 end
  if w.complete then return true end
  local forgotten = call('ZSCORE', P .. 'lacks:' .. worker, name)
  return not forgotten or tonumber(forgotten) <= now
end
