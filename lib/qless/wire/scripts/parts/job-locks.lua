-- include tracked-events: publish_tracked
-- include history: append_history, history_item
-- include samples: record
-- include links: any_linked
-- include time-text: now_text
-- include job-json: job_json
-- include deferred-work: is_cancelling
-- include lock-rollback: put_back

local function lock_all(queue, jobs, worker, expires, cap)
  local expiry = string.format('%.17g', expires)
  local jids, waits, locks, texts = {}, {}, {}, {}
  for i, job in ipairs(jobs) do
    jids[i] = job[1]
    waits[i] = now - (tonumber(job[14]) or now)
    locks[2 * i - 1], locks[2 * i] = expiry, job[1]
  end
  local tracked, linked = redis.call('ZMSCORE', prefix .. 'tracked', unpack(jids)), any_linked(jids)
  local popped = history_item(now, 'popped', { worker = worker })
  for i, job in ipairs(jobs) do
    local jid = job[1]
    append_history(jid, popped, cap)
    redis.call('HSET', prefix .. 'j:' .. jid, 'worker', worker, 'expires', expiry, 'state', 'running', 'time', now_text)
    job[3], job[5], job[7] = 'running', worker, expires
    if tracked[i] then publish_tracked('popped', jid) end
    texts[i] = job_json(job, tracked[i] ~= false, linked)
  end
  redis.call('ZADD', prefix .. 'q:' .. queue .. '-locks', unpack(locks))
  redis.call('ZADD', prefix .. 'w:' .. worker .. ':jobs', unpack(locks))
  record('wait', queue, now, waits)
  return texts
end

--- Locks jobs, as `read_job` reads them, for the worker until `expires`. Returns them as JSON, one by one.
local function lock_jobs(queue, jobs, worker, expires, cap)
  local good, texts = pcall(lock_all, queue, jobs, worker, expires, cap)
  if good then return texts end
  -- A key has another type.
  put_back(queue, jobs)
  error(texts, 0)
end

--- Logs that the hash of a waiting job is gone, unless the job is being cancelled.
local function log_missing(jid, queue)
  if is_cancelling(jid) then return end
  redis.log(redis.LOG_WARNING, 'qless: waiting job ' .. jid .. ' of queue ' .. queue .. ' has no hash')
end
