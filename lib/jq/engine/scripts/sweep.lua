--- Handles what is due, a batch of each kind per turn.
-- Needs context: text, write_though_full, read_job, file, due, prefix, settings, call, turn, BATCH; room:
--   forget_bytes, key_period; lanes: queue, unpark, reshow, UNDER_WAY; limits: blocked_until; workers:
--   read_worker, offer, lose, blame, remove_worker; lifecycle: detach, put_back, fail, give_back, read_handled,
--   HANDED
-- Gives sweep

--- Masters sweep each second. If none has for so long, in ms, workers could not be heard.
local GAP = 3000
--- Within so long after an outage, in ms, masters and workers repeat what they have to report.
local REPORTS = 10000

--[[
  Since when workers can be heard: the end of the last outage, or the start of a first master. Redis sees an outage itself, as the
  first call that it runs then may be one of before, whose master knew of none; and another master may have heard the workers.
]]
local function heard_since()
  -- In the future if the clock was set back.
  local since = math.min(tonumber(call('GET', prefix .. 'swept') or turn.now), turn.now)
  call('SET', prefix .. 'swept', text(since), 'PX', GAP)
  return since
end

local function sweep_delayed()
  for _, id in ipairs(due('delayed')) do
    call('ZREM', prefix .. 'delayed', id)
    local job = read_job(id, 'lane', 'priority')
    if job then queue(id, job.lane, job.priority) end
  end
end

--- Jobs whose time was up in an outage, or is soon after it, may have been accepted or have ended in time: this could not be reported.
local function sweep_deadlines(since)
  for _, id in ipairs(due('deadlines')) do
    local job = read_handled(id)
    if not job then
      call('ZREM', prefix .. 'deadlines', id)
    elseif turn.now < since + REPORTS then
      call('ZADD', prefix .. 'deadlines', since + REPORTS, id)
    elseif job.state == 'pushing' then
      -- Its master died, or could not report the outcome of the push: the worker is not blamed.
      detach(id, job)
      put_back(id, job, 'open', 'unanswered')
    else
      detach(id, job)
      fail(id, job, 'timeout', 'it took longer than ' .. job.timeout .. ' s', nil, true)
      blame(job.worker, 'timeouts')
    end
  end
end

--- A worker that gets pushes sends nothing while it has no job, so its silence alone is no sign of a loss.
local function probe(worker, worker_row)
  local heard_of = tonumber(call('HGET', prefix .. 'worker:' .. worker, 'seen')) + settings.forget_worker
  if call('SCARD', prefix .. 'held:' .. worker) > 0 then heard_of = turn.now + settings.forget_worker end
  if heard_of > turn.now then return call('ZADD', prefix .. 'silent', heard_of, worker) end
  call('ZADD', prefix .. 'silent', turn.now + settings.suspect_cap, worker)
  turn.probed[#turn.probed + 1] = { worker, worker_row.url }
end

local function sweep_workers(since)
  local counts_until = since + settings.silence
  for _, worker in ipairs(due('resting')) do
    call('ZREM', prefix .. 'resting', worker)
    offer(worker)
  end
  for _, worker in ipairs(due('with-unknown-names')) do
    local unknown = prefix .. 'unknown-names:' .. worker
    local first = call('ZRANGE', unknown, 0, 0, 'WITHSCORES')
    local worker_row = read_worker(worker)
    call('ZREM', prefix .. 'with-unknown-names', worker)
    if first[1] and tonumber(first[2]) <= turn.now then call('ZREM', unknown, first[1]) end
    local next_one = call('ZRANGE', unknown, 0, 0, 'WITHSCORES')
    if worker_row and next_one[1] then call('ZADD', prefix .. 'with-unknown-names', next_one[2], worker) end
    if worker_row then turn.stirred_classes[worker_row.class] = true end
  end
  for _, worker in ipairs(due('silent')) do
    local worker_row = read_worker(worker)
    if not worker_row then
      call('ZREM', prefix .. 'silent', worker)
    elseif worker_row.url and not worker_row.pinged then
      probe(worker, worker_row)
    elseif counts_until > turn.now then
      call('ZADD', prefix .. 'silent', counts_until, worker)
    else
      lose(worker, worker_row)
    end
  end
  for _, worker in ipairs(due('gone')) do remove_worker(worker) end
end

--- Gives back the jobs of workers that left or were lost.
local function sweep_leaving()
  local worker = call('ZRANGE', prefix .. 'leaving', 0, 0)[1]
  if not worker then return end
  local lost = read_worker(worker)
  for _, id in ipairs(call('SRANDMEMBER', prefix .. 'held:' .. worker, BATCH)) do
    local job = read_handled(id)
    if job and HANDED[job.state] and job.worker == worker then
      give_back(id, job, lost)
    else
      call('SREM', prefix .. 'held:' .. worker, id)
    end
  end
  if call('EXISTS', prefix .. 'held:' .. worker) == 0 then call('ZREM', prefix .. 'leaving', worker) end
  if call('EXISTS', prefix .. 'leaving') == 1 then turn.more = true end
end

local function sweep_blocked()
  for _, limit in ipairs(due('blocked')) do
    local again = blocked_until(limit)
    if tonumber(call('ZSCORE', prefix .. 'blocked', limit)) <= UNDER_WAY then
      reshow(limit)
    elseif again then
      call('ZADD', prefix .. 'blocked', again, limit)
    else
      unpark(limit)
    end
  end
end

local function sweep_results()
  for _, id in ipairs(due('results')) do
    call('ZREM', prefix .. 'results', id)
    if call('EXISTS', prefix .. 'job:' .. id) == 1 then call('HDEL', prefix .. 'job:' .. id, 'result') end
  end
end

local function sweep_tombstones(status)
  local key, latest = prefix .. 'status:' .. status, turn.now - settings.tombstone
  local ended = call('ZRANGEBYSCORE', key, '-inf', latest, 'LIMIT', 0, BATCH)
  if #ended == BATCH then turn.more = true end
  for _, id in ipairs(ended) do
    local name = call('HGET', prefix .. 'job:' .. id, 'name')
    file(id, name or '', status, nil)
    call('ZREM', prefix .. 'results', id)
    if status == 'error' then forget_bytes(id) end
    call('DEL', prefix .. 'job:' .. id)
  end
end

--- Forgets names that had no job for as long as a tombstone lasts.
local function sweep_names()
  local old = call('ZRANGEBYSCORE', prefix .. 'names', '-inf', turn.now - settings.tombstone, 'LIMIT', 0, BATCH)
  for _, name in ipairs(old) do
    local keys = {}
    for i, status in ipairs({ 'queued', 'retrying', 'done', 'error' }) do
      keys[i] = prefix .. 'status:' .. status .. ':' .. name
    end
    if call('EXISTS', unpack(keys)) == 0 then
      call('ZREM', prefix .. 'names', name)
    else
      call('ZADD', prefix .. 'names', turn.now, name)
    end
  end
end

--- Forgets expired keys, by the time in which they came.
local function sweep_keys()
  local counts = call('HGETALL', prefix .. 'key-counts')
  for i = 1, #counts, 2 do
    local is_past = tonumber(counts[i]) < key_period(turn.now - settings.forget_key)
    if is_past then call('HDEL', prefix .. 'key-counts', counts[i]) end
  end
end

local function sweep()
  write_though_full()
  sweep_delayed()
  local since = heard_since()
  sweep_deadlines(since)
  sweep_workers(since)
  sweep_leaving()
  sweep_blocked()
  sweep_results()
  sweep_tombstones('done')
  sweep_tombstones('error')
  sweep_names()
  sweep_keys()
end
