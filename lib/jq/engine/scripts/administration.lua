--- Operations of administrators: lists, details, and retrying or discarding jobs.
-- Needs context: write_though_full, read_job, file, prefix, settings, call, turn, BATCH; room: forget_bytes;
--   lanes: queue; classes: ALL; lifecycle: status_of, worker_of, tell, detach, read_handled, HANDED, ENDED;
--   jobs: is_kept, ops
-- Gives operations list_jobs, inspect, retry, discard, requeue_dead, discard_dead, list_workers,
--   inspect_worker, counts, list_names

local MAX_SCAN = 1000
-- As of attempts.
local MAX_LISTED_MESSAGE_BYTES = 16000

--- By bytes, as Redis orders members of equal scores; `<` would follow the server's locale.
local function precedes(one, other)
  for i = 1, math.min(#one, #other) do
    local a, b = string.byte(one, i), string.byte(other, i)
    if a ~= b then return a < b end
  end
  return #one < #other
end

--- The rank, counted from the newest, of the member after this one, which may have been removed.
local function rank_after(key, score, member)
  local low, high = call('ZCOUNT', key, '(' .. score, '+inf'), call('ZCOUNT', key, score, '+inf')
  while low < high do
    local middle = math.floor((low + high) / 2)
    if precedes(call('ZREVRANGE', key, middle, middle)[1], member) then high = middle else low = middle + 1 end
  end
  return low
end

--[[
  A page of an index, newest first, after a member and its score ('' for the first page). `row` makes of a member
  what is listed of it, or nil; at most `scan` are looked at. Returns the rows, then score and member to go on
  after, '' at the end.
]]
local function page(key, score, member, limit, scan, row)
  local start = score == '' and 0 or rank_after(key, score, member)
  local members = call('ZREVRANGE', key, start, start + scan, 'WITHSCORES')
  local rows = {}
  for i = 1, #members - 1, 2 do
    if #rows == limit or i > 2 * scan then return { rows, members[i - 1], members[i - 2] } end
    rows[#rows + 1] = row(members[i], members[i + 1])
  end
  return { rows, '', '' }
end

--- `name` may be ''. Running jobs have no index by name, so a page may be short although more follow.
function ops.list_jobs(status, name, score, id, limit)
  local by_name = name ~= '' and status ~= 'running'
  local key = prefix .. 'status:' .. status .. (by_name and ':' .. name or '')
  local scan = name ~= '' and not by_name and MAX_SCAN or tonumber(limit)
  return page(key, score, id, tonumber(limit), scan, function(member, since)
    local job = read_job(member, 'state', 'failures', 'priority', 'enqueued', 'worker', 'ran', 'begun', 'message')
    if not job or (name ~= '' and job.name ~= name) then return nil end
    return {
      member, since, job.name, job.priority, job.enqueued, worker_of(job), job.begun or '0',
      job.message and 'm' .. string.sub(job.message, 1, MAX_LISTED_MESSAGE_BYTES) or '',
    }
  end)
end

--[[
  All of a job, its result not counted as read: status, the time it got it, when it is tried again, the limit it
  waits for, its hash; '' for what there is none of. Or 'missing'.
]]
function ops.inspect(id)
  local job = read_job(id, 'state', 'failures', 'lane', 'keep', 'ended', 'read')
  if not job or (job.ended and turn.now >= job.ended + settings.tombstone) then return { 'missing' } end
  local status = status_of(job)
  local since = call('ZSCORE', prefix .. 'status:' .. status, id) or ''
  local again = call('ZSCORE', prefix .. 'delayed', id) or ''
  local is_waiting = not ENDED[job.state] and not HANDED[job.state] and again == ''
  local limit = is_waiting and call('HGET', prefix .. 'places', job.lane) or ''
  if job.state == 'done' and not is_kept(job) then call('HDEL', prefix .. 'job:' .. id, 'result') end
  return { status, since, again, limit, call('HGETALL', prefix .. 'job:' .. id) }
end

local function is_full()
  return call('ZCARD', prefix .. 'status:queued') + call('ZCARD', prefix .. 'status:retrying') >= settings.max_queued
end

--- Requeues a dead job with all its retries. The results of its attempts stay.
local function requeue(id, job)
  local key = prefix .. 'job:' .. id
  call('HSET', key, 'state', 'queued', 'failures', 0, 'losses', 0, 'bounces', 0, 'open', '')
  call('HDEL', key, 'ended', 'finished_at', 'message', 'error', 'awaited', 'ran')
  if call('EXISTS', prefix .. 'status:queued:' .. job.name) == 0 then call('ZADD', prefix .. 'names', turn.now, job.name) end
  file(id, job.name, 'error', 'queued')
  queue(id, job.lane, job.priority)
end

--- Retries a dead job, or at once one that waits for its next attempt: 'retried', 'missing', 'conflict' or 'full'.
function ops.retry(id, only_dead)
  local job = read_handled(id)
  if not job then return 'missing' end
  if job.state == 'error' then
    if is_full() then return 'full' end
    requeue(id, job)
    return 'retried'
  end
  if only_dead == '1' or status_of(job) ~= 'retrying' then return 'conflict' end
  if call('ZREM', prefix .. 'delayed', id) == 1 then queue(id, job.lane, job.priority) end
  return 'retried'
end

local function discard(id, job)
  detach(id, job)
  file(id, job.name, status_of(job), nil)
  call('ZREM', prefix .. 'results', id)
  forget_bytes(id)
  call('DEL', prefix .. 'job:' .. id)
  if job.awaited then tell(id) end
end

--- Deletes a job unless a worker has it: 'discarded', 'missing' or 'conflict'.
function ops.discard(id, only_dead)
  write_though_full()
  local job = read_handled(id)
  if not job then return 'missing' end
  if HANDED[job.state] or (only_dead == '1' and job.state ~= 'error') then return 'conflict' end
  discard(id, job)
  return 'discarded'
end

--[[
  The oldest dead jobs, of a name unless it is '', at most `limit`: requeued, or discarded. Returns how many, 1 if
  some are left, and 'full' if that is why.
]]
local function settle_dead(name, limit, settle, stops)
  local key = prefix .. 'status:error' .. (name ~= '' and ':' .. name or '')
  local settled = 0
  for _, id in ipairs(call('ZRANGE', key, 0, math.min(tonumber(limit), BATCH) - 1)) do
    if stops and stops() then return { settled, 1, 'full' } end
    local job = read_handled(id)
    if job then settle(id, job) end
    settled = settled + 1
  end
  return { settled, call('EXISTS', key), '' }
end

function ops.requeue_dead(name, limit) return settle_dead(name, limit, requeue, is_full) end

function ops.discard_dead(name, limit)
  write_though_full()
  return settle_dead(name, limit, discard)
end

local WORKER_FIELDS = { 'name', 'max_jobs', 'url', 'registered', 'seen', 'failures', 'rests', 'lost' }

--- Nil if the worker does not exist; `names` are those it takes, `jobs` those it has, at most a batch.
local function describe_worker(worker, details)
  local fields = call('HMGET', prefix .. 'worker:' .. worker, unpack(WORKER_FIELDS))
  if not fields[1] then return nil end
  for i = 1, #WORKER_FIELDS do fields[i] = fields[i] or '' end
  local rests = tonumber(fields[7]) or 0
  fields[7] = rests > turn.now and fields[7] or ''
  local row = { worker, call('SCARD', prefix .. 'held:' .. worker), fields }
  if details then
    local class = call('HGET', prefix .. 'worker:' .. worker, 'class')
    row[4] = class ~= ALL and call('SMEMBERS', prefix .. 'class:' .. class) or {}
    row[5] = call('SRANDMEMBER', prefix .. 'held:' .. worker, BATCH)
  end
  return row
end

function ops.list_workers(score, worker, limit)
  limit = tonumber(limit)
  return page(prefix .. 'workers', score, worker, limit, limit, function(member) return describe_worker(member) end)
end

function ops.inspect_worker(worker) return describe_worker(worker, true) or {} end

local STATUSES = { 'queued', 'running', 'retrying', 'error', 'done' }

--- The number of jobs of each status, then the number of workers.
function ops.counts()
  local counts = {}
  for i, status in ipairs(STATUSES) do counts[i] = call('ZCARD', prefix .. 'status:' .. status) end
  counts[#counts + 1] = call('ZCARD', prefix .. 'workers')
  return counts
end

--- Names, each with the numbers of jobs that wait, will be retried, are dead and are done.
function ops.list_names(score, name, limit)
  limit = tonumber(limit)
  return page(prefix .. 'names', score, name, limit, limit, function(member)
    local row = { member }
    for _, status in ipairs({ 'queued', 'retrying', 'error', 'done' }) do
      row[#row + 1] = call('ZCARD', prefix .. 'status:' .. status .. ':' .. member)
    end
    return row
  end)
end
