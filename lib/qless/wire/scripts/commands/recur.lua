--[=[
  recur <now> queue jid klass data interval I offset [priority p] [tags J] [retries r=0] [backlog b=0]

  Every I seconds, the first time `offset` seconds from now, a job <jid>-<n> of this kind is put into the queue: at
  the next pop or peek, with the time at which it was due. Missed runs are caught up on, all of them, or with a backlog
  about b + 1. An existing recurring job is changed, and keeps its count.
  Returns the jid.
]=]
-- include arguments: options, integer, strings
-- include limits: at_most, MOST_TAGS
-- include work-queue: add_queue
-- include json: json
-- include number: number
-- include wake-ups: wake
-- include rights: require_rights

local queue, jid, klass, data, spec = args[1], args[2], args[3], args[4], args[5]
if not queue then error('Recur(): Arg "queue" missing') end
if not jid then error('Recur(): Arg "jid" missing') end
if not klass then error('Recur(): Arg "klass" missing') end
if json(data) == nil then error('Recur(): Arg "data" not JSON: ' .. tostring(data)) end
if not spec then error('Recur(): Arg "spec" missing') end
if spec ~= 'interval' then error('Recur(): schedule type "' .. spec .. '" unknown') end
local interval, offset = number(args[6]), number(args[7])
if not interval then error('Recur(): Arg "interval" not a number: ' .. tostring(args[6])) end
if not offset then error('Recur(): Arg "offset" not a number: ' .. tostring(args[7])) end
if interval <= 0 then error('Recur(): Arg "interval" must be greater than 0') end
local given = #args > 7 and options(args, 8) or {}
local priority, retries = number(given.priority or 0), integer(given.retries or 0)
local backlog, tags = integer(given.backlog or 0), strings(given.tags or '[]')
if not tags then error('Recur(): Arg "tags" must be JSON string array: ' .. given.tags) end
at_most(MOST_TAGS, #tags, 'Recur', 'tags')
if not priority then error('Recur(): Arg "priority" not a number: ' .. given.priority) end
if not retries then error('Recur(): Arg "retries" not a number: ' .. given.retries) end
if not backlog then error('Recur(): Arg "backlog" not a number: ' .. given.backlog) end

local key = prefix .. 'r:' .. jid
local old = redis.call('HMGET', key, 'count', 'queue')
require_rights('HSET', 'ZADD', 'ZREM')
if old[2] then redis.call('ZREM', prefix .. 'q:' .. old[2] .. '-recur', jid) end
redis.call('HSET', key, 'jid', jid, 'klass', klass, 'data', data, 'priority', priority, 'tags', cjson.encode(tags),
  'state', 'recur', 'queue', queue, 'type', 'interval', 'count', old[1] or 0, 'interval', interval,
  'retries', retries, 'backlog', backlog)
redis.call('ZADD', prefix .. 'q:' .. queue .. '-recur', now + offset, jid)
add_queue(queue, now)
wake(queue, 1)
return jid
