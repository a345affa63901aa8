--[[
  worker:ID  name, max_jobs, url, batch (how many jobs it takes in one push, if several), names ('1' if it wants
             only those of names:ID), registered, seen, pinged, failures (in a row), rests (the time until it gets nothing), lost ('1')
  held:ID    jobs handed to it: its slots are counted from this, so that none leaks
  pushing:ID those of them that it has not answered yet
  lacks:ID   names it answered 404 for, by the time that is forgotten
  workers    all of them by when they registered
  free       those to push to, by how full they are
  resting    those that rest, by when it ends
  silent     those whose silence counts, by when it has lasted too long
  gone       lost ones, by when they are forgotten
  leaving    those whose jobs go back, a batch a turn
]]
local function read_worker(worker)
  local key = P .. 'worker:' .. worker
  local w = call('HMGET', key, 'max_jobs', 'url', 'names', 'rests', 'failures', 'lost', 'pinged', 'batch')
  if not w[1] then return nil end
  return {
    max_jobs = tonumber(w[1]), url = w[2] or nil, names = w[3] == '1', rests = tonumber(w[4] or 0),
    failures = tonumber(w[5] or 0), lost = w[6] == '1', pinged = w[7] == '1', batch = w[8] or '1',
  }
end

--- Offers it to the dispatch if it may be pushed to.
local function offer(worker)
  local w = read_worker(worker)
  if not w or not w.url then
    if not w then call('ZREM', P .. 'free', worker) end
    return
  end
  local held = call('SCARD', P .. 'held:' .. worker)
  local pushing = call('SCARD', P .. 'pushing:' .. worker)
  if w.rests > now then
    call('ZADD', P .. 'resting', w.rests, worker)
    call('ZREM', P .. 'free', worker)
    return
  end
  if w.rests > 0 then call('ZREM', P .. 'resting', worker) end
  if held < w.max_jobs and pushing < settings.max_pushes then
    call('ZADD', P .. 'free', held / w.max_jobs, worker)
  else
    call('ZREM', P .. 'free', worker)
  end
end

--- It is there: it was heard of, or took a job.
local function revive(worker, w)
  if w.failures == 0 and not w.lost then return end
  w.failures, w.lost, w.rests = 0, false, 0
  call('HSET', P .. 'worker:' .. worker, 'failures', 0, 'rests', 0, 'lost', 0)
  call('ZREM', P .. 'gone', worker)
  call('ZREM', P .. 'leaving', worker)
  offer(worker)
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
  if w.lost then revive(worker, w) end
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

--- A push that failed, or a job that took too long.
local function blame(worker)
  local w = read_worker(worker)
  if not w then return end
  local rests = now + doubled(settings.suspect, w.failures, settings.suspect_cap)
  call('HSET', P .. 'worker:' .. worker, 'failures', w.failures + 1, 'rests', text(rests))
  if w.failures + 1 >= settings.lost_after then lose(worker, w) end
  offer(worker)
end

local function remove_worker(worker)
  for _, key in ipairs({ 'worker:', 'lacks:', 'names:' }) do call('DEL', P .. key .. worker) end
  for _, key in ipairs({ 'workers', 'free', 'resting', 'silent', 'gone' }) do call('ZREM', P .. key, worker) end
  call('ZADD', P .. 'leaving', 0, worker)
  more = true
end

local function wants(worker, w, name)
  if w.names and call('SISMEMBER', P .. 'names:' .. worker, name) == 0 then return false end
  if w.complete == nil then w.complete = call('EXISTS', P .. 'lacks:' .. worker) == 0 end
  if w.complete then return true end
  local forgotten = call('ZSCORE', P .. 'lacks:' .. worker, name)
  return not forgotten or tonumber(forgotten) <= now
end
