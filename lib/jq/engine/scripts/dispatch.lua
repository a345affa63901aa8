--- How many pairs of a job and a worker a turn looks at.
local MAX_LOOKS = 1000

--- Hands a job to a worker. What the worker gets goes to `handed`, with how often the job was begun before.
local function assign(id, job, worker, w, accepted)
  local attempt = tonumber(job.attempt or 0) + 1
  if attempt == 1 then waits[#waits + 1] = now - job.enqueued end
  local status = status_of(job)
  local key = P .. 'job:' .. id
  call('ZREM', P .. 'ready:' .. job.lane, id)
  reindex(job.lane)
  call('SADD', P .. 'held:' .. worker, id)
  hold(id, attempt, job.lane)
  call('HSET', key, 'worker', worker, 'attempt', attempt, 'handed', text(now), 'open', '')
  if accepted then
    call('HSET', key, 'state', 'running', 'begun', tonumber(job.begun or 0) + 1)
    call('ZADD', P .. 'deadlines', now + job.timeout * 1000 + settings.grace, id)
    file(id, job.name, status, 'running')
  else
    call('HSET', key, 'state', 'pushing')
    call('SADD', P .. 'pushing:' .. worker, id)
    call('ZADD', P .. 'deadlines', now + settings.push_lease, id)
    -- One that failed last time gets one job, and no other before it has answered.
    if w.failures > 0 then call('HSET', P .. 'worker:' .. worker, 'rests', text(now + settings.push_lease)) end
  end
  offer(worker)
  local argument = call('HGET', key, 'argument')
  return { id, tostring(attempt), worker, w.url or '', job.name, job.timeout, argument, job.begun or '0', w.batch }
end

--- The next limit that stands in a lane's way, and until when.
local function obstacle(lane)
  for _, limit in ipairs(limits_of(lane)) do
    local again = blocked_until(limit)
    if again then return limit, again end
  end
end

--- Lanes that were found with other constraints than there are now: their jobs want to be looked at anew.
local stale = {}
local MAX_STALE_BYTES = 4 * 1024 * 1024

local function collect_stale(lane)
  if #stale > 0 then return end
  local bytes = 0
  for _, id in ipairs(call('ZRANGE', P .. 'ready:' .. lane, 0, BATCH - 1)) do
    local job = call('HMGET', P .. 'job:' .. id, 'name', 'argument')
    bytes = bytes + #(job[2] or '')
    if bytes > MAX_STALE_BYTES and #stale > 0 then return end
    stale[#stale + 1] = { id, lane, job[1], job[2] }
  end
end

local version = call('GET', P .. 'constraints-version') or '0'

--[[
  The best job at or after this rank of the heads that may run now, with its rank; parks what may not.
  `job.stale` is set where the constraints have changed since.
]]
local function best(rank)
  for _ = 1, MAX_LOOKS do
    local head = call('ZRANGE', P .. 'heads', rank, rank, 'WITHSCORES')
    if not head[1] then return nil end
    local id = head[1]
    local job = read_job(id, 'lane', 'state', 'priority', 'attempt', 'begun', 'failures', 'timeout', 'enqueued')
    if not job then
      call('ZREM', P .. 'heads', id)
    else
      local _, found_with = limits_of(job.lane)
      if found_with ~= version then
        collect_stale(job.lane)
        return nil
      end
      local limit, again = obstacle(job.lane)
      if not limit then return id, job end
      park(job.lane, id, head[2], limit, again)
    end
  end
  more = true
end

--[[
  A job for one worker that asks, beginning at a rank of the heads. Without one: whether there are jobs that it
  doesn't want, and the rank to go on from when there was too much to look at.
]]
local function pull(worker, w, rank)
  if call('SCARD', P .. 'held:' .. worker) >= w.max_jobs then return nil, true end
  for _ = 1, MAX_LOOKS do
    local id, job = best(rank)
    if not id then return nil, rank > 0 end
    if wants(worker, w, job.name) then return assign(id, job, worker, w, true) end
    rank = rank + 1
  end
  return nil, true, rank
end

--- The least busy worker that wants this job, and how many were looked at.
local function taker(name, known)
  for place = 0, MAX_LOOKS do
    local worker = call('ZRANGE', P .. 'free', place, place)[1]
    if not worker then return nil, nil, place end
    local w = known[worker] or read_worker(worker)
    known[worker] = w
    if w and wants(worker, w, name) then return worker, w, place + 1 end
  end
  return nil, nil, MAX_LOOKS
end

--[[
  Hands out the best jobs to workers that they are pushed to, at most `limit`. It begins at a rank of the heads
  and returns the one to go on from when there was too much to look at, or nil.
]]
local function dispatch(rank, limit)
  local handed, known, looks = {}, {}, 0
  if limit == 0 or call('EXISTS', P .. 'free') == 0 then return handed end
  while #handed < limit do
    local id, job = best(rank)
    if not id then return handed end
    local worker, w, looked = taker(job.name, known)
    looks = looks + looked
    if worker then
      handed[#handed + 1] = assign(id, job, worker, w, false)
      if w.failures > 0 then known[worker] = nil end
    elseif looked == 0 then
      return handed
    else
      rank = rank + 1
    end
    if looks > MAX_LOOKS then return handed, rank end
  end
  more = true
  return handed, rank
end
