--- Selects the next job to hand out, and writes the hand-out.
-- Needs context: text, read_fields, read_job, prefix, settings, call, turn, BATCH; lanes: limits_of, unqueue_best, park; limits:
--   blocked_until, hold; classes: ALL; lifecycle: HANDED; workers: rest, take_up, offer_after_pull
-- Gives is_over, message_of, assign, obstacle, front, heads_of, best_heads, is_best, best_for, pull, MAX_LOOKS, FEW

--- How many jobs, names and workers a turn reads.
local MAX_LOOKS = 1000
--- How many names count as one read, and how many classes are read at a time.
local FEW = 8

local function is_over() return turn.looks > MAX_LOOKS end

--- What a worker gets of a job: with how often it was begun before, and whether it ends if it fails.
local function message_of(id, attempt, job, begun, worker, worker_row)
  local stored = call('HMGET', prefix .. 'job:' .. id, 'argument', 'failures', 'max_retry')
  local is_last = tonumber(stored[2] or 0) >= tonumber(stored[3] or 0)
  return {
    id, tostring(attempt), worker, worker_row.url or '', job.name, job.timeout, stored[1], begun, worker_row.batch,
    is_last and '1' or '0',
  }
end

--- Hands a job to a worker, which has it once it, or the master for it, has accepted. Returns the worker's job.
local function assign(id, job, worker, worker_row)
  local attempt = tonumber(job.attempt or 0) + 1
  if attempt == 1 then turn.waits[#turn.waits + 1] = turn.now - job.enqueued end
  local key = prefix .. 'job:' .. id
  unqueue_best(id, job.lane)
  take_up(worker, id)
  hold(id, attempt, job.lane, turn.now)
  call('HSET', key, 'worker', worker, 'attempt', attempt, 'handed', text(turn.now), 'open', '', 'state', 'pushing')
  call('ZADD', prefix .. 'deadlines', turn.now + settings.push_lease, id)
  -- A worker whose last push failed gets one job, and no other before it has answered.
  if worker_row.url and (worker_row.failures > 0 or worker_row.timeouts >= settings.lost_after) then
    rest(worker, worker_row, turn.now + settings.push_lease)
  end
  return message_of(id, attempt, job, job.begun or '0', worker, worker_row)
end

--- The next limit that stops a lane, and until when.
local function obstacle(lane)
  for _, limit in ipairs(limits_of(lane)) do
    local again = blocked_until(limit)
    if again then return limit, again end
  end
end

--- Lanes of other constraints than the present ones: their jobs have to be matched again.
local MAX_STALE_BYTES = 4 * 1024 * 1024

local function collect_stale(lane)
  if #turn.stale > 0 then return end
  local bytes = 0
  for _, id in ipairs(call('ZRANGE', prefix .. 'ready:' .. lane, 0, BATCH - 1)) do
    local job = call('HMGET', prefix .. 'job:' .. id, 'name', 'argument')
    bytes = bytes + #(job[2] or '')
    if bytes > MAX_STALE_BYTES and #turn.stale > 0 then return end
    turn.stale[#turn.stale + 1] = { id, lane, job[1], job[2] }
  end
end

--- Jobs that are handed out and have to be counted under the present constraints: until then no job under a limit
--- goes out. True if there are some.
local function collect_uncounted()
  local key = prefix .. 'uncounted'
  if turn.counted == nil then turn.counted = call('EXISTS', key) == 0 end
  if turn.counted or #turn.stale > 0 then return not turn.counted end
  local bytes = 0
  for _, id in ipairs(call('ZRANGE', key, 0, BATCH - 1)) do
    local job = read_job(id, 'state', 'lane', 'argument')
    if job and HANDED[job.state] then
      bytes = bytes + #(job.argument or '')
      if bytes > MAX_STALE_BYTES and #turn.stale > 0 then return true end
      turn.stale[#turn.stale + 1] = { id, job.lane, job.name, job.argument }
    else
      call('ZREM', key, id)
    end
  end
  turn.counted = call('EXISTS', key) == 0
  return not turn.counted
end

local READY = { 'name', 'lane', 'priority', 'attempt', 'begun', 'timeout', 'enqueued' }

--[[
  The best job of these heads that may run now; parks what may not. Without one: whether there may
  be one, for the next turn or once jobs were matched anew.
]]
local function front(heads)
  while not is_over() do
    turn.looks = turn.looks + 1
    local head = call('ZRANGE', heads, 0, 0, 'WITHSCORES')
    if not head[1] then return nil end
    local id = head[1]
    local job = read_fields(id, READY)
    if not job then
      call('ZREM', prefix .. 'heads', id)
      call('ZREM', heads, id)
    else
      local limits, found_with = limits_of(job.lane)
      if found_with ~= turn.version then
        collect_stale(job.lane)
        return nil, nil, true
      end
      if #limits > 0 and collect_uncounted() then return nil, nil, true end
      local limit, again = obstacle(job.lane)
      if not limit then return id, job end
      park(job.lane, id, head[2], limit, again)
    end
  end
  return nil, nil, true
end

local function heads_of(name) return prefix .. 'heads:' .. name end

--- The heads of the name, of these, with the best job of all, or nil.
local function best_heads(names)
  if #names == 1 then return heads_of(names[1]) end
  local best, priority, id
  for _, name in ipairs(names) do
    local head = call('ZRANGE', heads_of(name), 0, 0, 'WITHSCORES')
    local score = tonumber(head[2])
    if score and (not best or score < priority or (score == priority and head[1] < id)) then
      best, priority, id = heads_of(name), score, head[1]
    end
  end
  turn.looks = turn.looks + math.floor(#names / FEW)
  return best
end

--- The heads with the best job for a class, or nil.
local function heads_for(class)
  if class == ALL then return prefix .. 'heads' end
  turn.class_names[class] = turn.class_names[class] or call('SMEMBERS', prefix .. 'class:' .. class)
  return best_heads(turn.class_names[class])
end

--- Whether no other job goes before this one, the best of its name.
local function is_best(class, id)
  if class == ALL then return call('ZRANGE', prefix .. 'heads', 0, 0)[1] == id end
  turn.class_names[class] = turn.class_names[class] or call('SMEMBERS', prefix .. 'class:' .. class)
  return #turn.class_names[class] == 1
end

--- The best job for workers of a class that know all its names; else as `front`.
local function best_for(class)
  while true do
    local heads = heads_for(class)
    if not heads then return nil end
    local id, job, later = front(heads)
    -- The first job may be parked by now, and the best one have another name.
    if id or later or class == ALL or #turn.class_names[class] == 1 then return id, job, later end
  end
end

--- The job for a worker that pulls; or none, and whether there may be one; or none, since it has no room.
local function pull(worker, worker_row)
  if call('SCARD', prefix .. 'held:' .. worker) >= worker_row.max_jobs then return nil, nil, true end
  local id, job, later = best_for(worker_row.class)
  if not id then return nil, later end
  offer_after_pull(worker, worker_row)
  return assign(id, job, worker, worker_row)
end
