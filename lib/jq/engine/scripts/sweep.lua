--- What falls due by the clock, a batch of each kind a turn.

local function sweep_delayed()
  for _, id in ipairs(due('delayed')) do
    call('ZREM', P .. 'delayed', id)
    local job = read_job(id, 'lane', 'priority')
    if job then queue(id, job.lane, job.priority) end
  end
end

local function sweep_deadlines()
  for _, id in ipairs(due('deadlines')) do
    local job = read_handled(id)
    if not job then
      call('ZREM', P .. 'deadlines', id)
    elseif job.state == 'pushing' then
      -- Its master died, or could not say how the push ended: that is not the worker's fault.
      detach(id, job)
      put_back(id, job, 'open', 'unanswered')
    else
      detach(id, job)
      fail(id, job, 'timeout', 'it took longer than ' .. job.timeout .. ' s', nil, true)
      blame(job.worker, 'timeouts')
    end
  end
end

--- One to push to has nothing to say while it has no job, so its silence alone means nothing.
local function probe(worker, w)
  local heard_of = tonumber(call('HGET', P .. 'worker:' .. worker, 'seen')) + settings.forget_worker
  if call('SCARD', P .. 'held:' .. worker) > 0 then heard_of = now + settings.forget_worker end
  if heard_of > now then return call('ZADD', P .. 'silent', heard_of, worker) end
  call('ZADD', P .. 'silent', now + settings.suspect_cap, worker)
  probed[#probed + 1] = { worker, w.url }
end

local function sweep_workers()
  for _, worker in ipairs(due('resting')) do
    call('ZREM', P .. 'resting', worker)
    offer(worker)
  end
  for _, worker in ipairs(due('lacking')) do
    local first = call('ZRANGE', P .. 'lacks:' .. worker, 0, 0, 'WITHSCORES')
    local w = read_worker(worker)
    call('ZREM', P .. 'lacking', worker)
    if first[1] and tonumber(first[2]) <= now then call('ZREM', P .. 'lacks:' .. worker, first[1]) end
    local next_one = call('ZRANGE', P .. 'lacks:' .. worker, 0, 0, 'WITHSCORES')
    if w and next_one[1] then call('ZADD', P .. 'lacking', next_one[2], worker) end
    if w then stirred_classes[w.class] = true end
  end
  for _, worker in ipairs(due('silent')) do
    local w = read_worker(worker)
    if not w then
      call('ZREM', P .. 'silent', worker)
    elseif w.pinged or not w.url then
      lose(worker, w)
    else
      probe(worker, w)
    end
  end
  for _, worker in ipairs(due('gone')) do remove_worker(worker) end
end

--- The jobs of those who left or were lost.
local function sweep_leaving()
  local worker = call('ZRANGE', P .. 'leaving', 0, 0)[1]
  if not worker then return end
  local lost = read_worker(worker)
  for _, id in ipairs(call('SRANDMEMBER', P .. 'held:' .. worker, BATCH)) do
    local job = read_handled(id)
    if job and HANDED[job.state] and job.worker == worker then
      give_back(id, job, lost)
    else
      call('SREM', P .. 'held:' .. worker, id)
    end
  end
  if call('EXISTS', P .. 'held:' .. worker) == 0 then call('ZREM', P .. 'leaving', worker) end
  if call('EXISTS', P .. 'leaving') == 1 then more = true end
end

local function sweep_blocked()
  for _, limit in ipairs(due('blocked')) do
    local again = blocked_until(limit)
    if tonumber(call('ZSCORE', P .. 'blocked', limit)) <= UNDER_WAY then
      reshow(limit)
    elseif again then
      call('ZADD', P .. 'blocked', again, limit)
    else
      unpark(limit)
    end
  end
end

local function sweep_results()
  for _, id in ipairs(due('results')) do
    call('ZREM', P .. 'results', id)
    if call('EXISTS', P .. 'job:' .. id) == 1 then call('HDEL', P .. 'job:' .. id, 'result') end
  end
end

local function sweep_tombstones(status)
  local ended = call('ZRANGEBYSCORE', P .. 'status:' .. status, '-inf', now - settings.tombstone, 'LIMIT', 0, BATCH)
  if #ended == BATCH then more = true end
  for _, id in ipairs(ended) do
    local name = call('HGET', P .. 'job:' .. id, 'name')
    file(id, name or '', status, nil)
    call('ZREM', P .. 'results', id)
    if status == 'error' then forget_bytes(id) end
    call('DEL', P .. 'job:' .. id)
  end
end

--- Names that have had no job for as long as a tombstone lasts.
local function sweep_names()
  local old = call('ZRANGEBYSCORE', P .. 'names', '-inf', now - settings.tombstone, 'LIMIT', 0, BATCH)
  for _, name in ipairs(old) do
    local keys = {}
    for i, status in ipairs({ 'queued', 'retrying', 'done', 'error' }) do
      keys[i] = P .. 'status:' .. status .. ':' .. name
    end
    if call('EXISTS', unpack(keys)) == 0 then
      call('ZREM', P .. 'names', name)
    else
      call('ZADD', P .. 'names', now, name)
    end
  end
end

--- Keys that nobody remembers any more, by the time in which they came.
local function sweep_keys()
  local counts = call('HGETALL', P .. 'key-counts')
  for i = 1, #counts, 2 do
    if tonumber(counts[i]) < key_period(now - settings.forget_key) then call('HDEL', P .. 'key-counts', counts[i]) end
  end
end

local function sweep()
  write_though_full()
  sweep_delayed()
  sweep_deadlines()
  sweep_workers()
  sweep_leaving()
  sweep_blocked()
  sweep_results()
  sweep_tombstones('done')
  sweep_tombstones('error')
  sweep_names()
  sweep_keys()
end

--- Milliseconds until something falls due, or -1.
local function outlook()
  local first
  for _, key in ipairs({ 'delayed', 'deadlines', 'resting', 'silent', 'gone', 'blocked' }) do
    local score = tonumber(call('ZRANGE', P .. key, 0, 0, 'WITHSCORES')[2])
    if score and (not first or score < first) then first = score end
  end
  return first and math.max(0, math.ceil(first - now)) or -1
end
