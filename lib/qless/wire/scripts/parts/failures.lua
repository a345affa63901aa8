-- include history: append_history, history_item
-- include counters: count_stat
-- include failure-options: after_failure

--- The failure of a job that has no retries left, as the original writes it: without a worker, its time not cut to an integer.
local function exhausted(group, queue)
  return { group = group, message = 'Job exhausted retries in queue "' .. queue .. '"', when = now, worker = '' }
end

--- Files a job under its group of failures. `who` is the worker named in the history, if any.
local function file_failure(jid, queue, failure, now, who)
  local group = failure.group
  failure.when = failure.when or math.floor(now)
  append_history(jid, history_item(now, 'failed', { worker = who, group = group }))
  redis.call('HSET', prefix .. 'j:' .. jid, 'state', 'failed', 'worker', '', 'expires', '', 'failure',
    cjson.encode(failure))
  redis.call('HDEL', prefix .. 'j:' .. jid, 'grace', 'scheduled')
  redis.call('SADD', prefix .. 'failures', group)
  redis.call('LPUSH', prefix .. 'f:' .. group, jid)
  count_stat(queue, now, 'failures', 1)
  count_stat(queue, now, 'failed', 1)
  after_failure(jid, group, now)
end
