--[=[
  recur.get <now> jid

  Returns {jid, klass, state, queue, priority, interval, retries, count, data, tags, backlog} as JSON, or nil.
]=]
-- include recurring-json: recurring_json
-- include json: json

if not args[1] then error('Recur(): Arg "jid" missing') end
local job = redis.call('HMGET', prefix .. 'r:' .. args[1], 'jid', 'klass', 'state', 'queue', 'priority', 'interval', 'retries',
  'count', 'data', 'tags', 'backlog')
return job[1] and recurring_json({
  jid = job[1],
  klass = job[2],
  state = job[3],
  queue = job[4],
  priority = tonumber(job[5]),
  interval = tonumber(job[6]),
  retries = tonumber(job[7]),
  count = tonumber(job[8]),
  data = job[9],
  tags = json(job[10] or '[]'),
  backlog = tonumber(job[11]) or 0,
})
