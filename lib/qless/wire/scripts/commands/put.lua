--[=[
  put <now> worker queue jid klass data delay [priority p] [tags J] [retries r] [depends J]

  Creates a job, or moves the one of that jid to the queue, where it starts over with all its retries: a worker that
  has it loses it, and what is not given (priority, tags, retries, dependencies) stays as it was.
    delay    seconds; the job is scheduled until then
    tags     JSON list of 1,000 at most; replaces
    depends  JSON list of jids; those that exist and are not complete keep the job from running. An empty one
             changes nothing
  Returns the jid. Errors before anything is written: an argument that is missing, malformed or too long.
]=]
-- include number: number
-- include json: json
-- include tracked-events: publish_tracked
-- include job-events: publish_job
-- include tracking: is_tracked
-- include history: append_history, history_item
-- include placement: placement
-- include time-text: now_text
-- include wake-ups: wake
-- include rights: require_rights

local worker, queue, jid, klass, data = args[1], args[2], args[3], args[4], args[5]
if not worker then error('Put(): Arg "worker" missing') end
if not queue then error('Put(): Arg "queue" missing') end
if not jid then error('Put(): Arg "jid" missing') end
if not klass then error('Put(): Arg "klass" missing') end
if json(data) == nil then error('Put(): Arg "data" missing or not JSON: ' .. tostring(data)) end
local delay = number(args[6])
if not delay then error('Put(): Arg "delay" not a number: ' .. tostring(args[6])) end

local priority, retries, depends, tags
if #args > 6 then
  -- include arguments: options, integer, strings -- at the head +2 % of put, with the next
  -- include limits: at_most, MOST_TAGS, MOST_NAMED -- as arguments
  local given = options(args, 7)
  priority, retries = number(given.priority), integer(given.retries)
  depends, tags = given.depends and strings(given.depends), given.tags and strings(given.tags)
  if given.priority and not priority then error('Put(): Arg "priority" not a number: ' .. given.priority) end
  if given.retries and not retries then error('Put(): Arg "retries" not a number: ' .. given.retries) end
  if given.depends and not depends then error('Put(): Arg "depends" not JSON: ' .. given.depends) end
  if given.tags and not tags then error('Put(): Arg "tags" not JSON: ' .. given.tags) end
  at_most(MOST_TAGS, tags and #tags or 0, 'Put', 'tags')
  at_most(MOST_NAMED, depends and #depends or 0, 'Put', 'dependencies a call')
  retries = retries and string.format('%.0f', retries)
  if depends and #depends == 0 then depends = nil end
end

local key = prefix .. 'j:' .. jid
local old = redis.call('HMGET', key, 'priority', 'tags', 'queue', 'state', 'failure', 'retries', 'worker')
priority, retries = priority or old[1] or '0', retries or old[6] or '5'

require_rights('HSET', 'ZADD')
if old[4] then require_rights('EXISTS', 'HDEL', 'HGET', 'LRANGE', 'LREM', 'SMEMBERS', 'SREM', 'UNLINK', 'ZREM') end
if depends then require_rights('EXISTS', 'SADD', 'SMEMBERS', 'SREM', 'ZMSCORE') end
if tags or old[2] then require_rights('ZINCRBY', 'ZREM') end
append_history(jid, history_item(now, 'put', { q = queue }))
publish_job('put', jid, queue)
local blocked = false
if old[4] then
  -- include job-move: move_out, drop_dependencies -- at the head +7 % of put
  move_out(jid, old, worker)
  if depends then drop_dependencies(jid, depends) end
  blocked = redis.call('EXISTS', key .. '-dependencies') == 1
end
if tags or (old[2] and old[2] ~= '[]' and old[2] ~= '{}') then
  -- include tags: retag -- at the head +2 % of put
  retag(jid, old[2], tags or strings(old[2]) or {}, now)
end
if depends then
  -- include dependencies: depend -- at the head +2.5 % of put
  blocked = depend(jid, depends) or blocked
end

local due = delay > 0 and now + delay or nil
local set, score, state = placement(priority, now, due, blocked)
redis.call('ZADD', prefix .. 'q:' .. queue .. set, score, jid)
redis.call('HSET', key, 'jid', jid, 'klass', klass, 'data', data, 'priority', priority, 'tags',
  tags and cjson.encode(tags) or old[2] or '[]', 'state', state, 'worker', '', 'expires', '0', 'queue', queue,
  'retries', retries, 'remaining', retries, 'time', now_text)
if blocked and due then redis.call('HSET', key, 'scheduled', due) end
redis.call('ZADD', prefix .. 'queues', 'NX', now_text, queue)
if is_tracked(jid) then publish_tracked('put', jid) end
if not blocked then
  wake(queue, 1)
end
return jid
