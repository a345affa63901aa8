-- include tracked-events: publish_tracked
-- include events: publish
-- include tracking: is_tracked
-- include lost-locks: lock_lost
-- include job: decoded, read_job
-- include counters: count_stat
-- include failures: exhausted, file_failure
-- include history: append_history, history_item
-- include failing-rights: require_rights_to_fail

--- Publishes that a lock has expired, and records it.
local function report_expiry(jid, queue, worker, now)
  if is_tracked(jid) then publish_tracked('stalled', jid) end
  append_history(jid, history_item(now, 'timed-out'))
  lock_lost(jid, worker)
  count_stat(queue, now, 'retries', 1)
end

local function fail_exhausted(jid, queue, worker, now, failure)
  redis.call('ZREM', prefix .. 'q:' .. queue .. '-locks', jid)
  local group, last = 'failed-retries-' .. queue, decoded(failure).message
  local why = exhausted(group, queue)
  if last and redis.call('HGET', prefix .. 'config', 'exhausted-keeps-message') == '1' then
    why.message = why.message .. ': ' .. last
  end
  file_failure(jid, queue, why, now)
  if is_tracked(jid) then publish_tracked('failed', jid) end
  publish('log', { message = why.message, jid = jid, group = group, event = 'failed', worker = worker })
end

--- Of jobs whose lock has expired, those that may be claimed again, and how many got a grace period instead.
local function take_expired(queue, jids, now, grace)
  require_rights_to_fail()
  local jobs, extended = {}, 0
  for _, jid in ipairs(jids) do
    local key = prefix .. 'j:' .. jid
    local job, worker = read_job(jid), ''
    if job then worker = job[5] or '' end
    redis.call('ZREM', prefix .. 'w:' .. worker .. ':jobs', jid)
    local warned = redis.call('HGET', key, 'grace') == '1'
    if job and (grace <= 0 or not warned) then report_expiry(jid, queue, worker, now) end
    if not job then
      redis.call('ZREM', prefix .. 'q:' .. queue .. '-locks', jid)
      redis.log(redis.LOG_WARNING, 'qless: locked job ' .. jid .. ' of queue ' .. queue .. ' has no hash')
    elseif grace > 0 and not warned then
      redis.call('HSET', key, 'grace', 1)
      redis.call('ZADD', prefix .. 'q:' .. queue .. '-locks', now + grace, jid)
      extended = extended + 1
    else
      local remaining = math.floor(tonumber(job[9]) or 0) - 1
      redis.call('HDEL', key, 'grace')
      redis.call('HSET', key, 'remaining', remaining)
      if remaining < 0 then
        fail_exhausted(jid, queue, worker, now, job[12])
      else
        job[9] = remaining
        jobs[#jobs + 1] = job
      end
    end
  end
  return jobs, extended
end
