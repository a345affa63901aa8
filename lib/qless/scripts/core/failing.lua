-- include quote
-- include history
-- include counters
-- include expiring
--- Files a job under its group of failures. `who` is the worker in the history, if it is to be there.
local function file_failure(jid, queue, group, message, worker, now, who)
  local extras = '{"group":' .. quote(group) .. '}'
  if who then extras = '{"worker":' .. quote(who) .. ',"group":' .. quote(group) .. '}' end
  remember(jid, now, '"failed",' .. extras)
  redis.call('HSET', ql .. 'j:' .. jid, 'state', 'failed', 'worker', '', 'expires', '', 'failure',
    cjson.encode({ group = group, message = message, when = math.floor(now), worker = worker }))
  redis.call('HDEL', ql .. 'j:' .. jid, 'grace', 'scheduled')
  redis.call('SADD', ql .. 'failures', group)
  redis.call('LPUSH', ql .. 'f:' .. group, jid)
  count_stat(queue, now, 'failures', 1)
  count_stat(queue, now, 'failed', 1)
  after_failure(jid, group, now)
end
