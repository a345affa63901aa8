--[=[
  put <now> worker queue jid klass data delay [priority p] [tags J] [retries r] [depends J]

  Creates a job, or moves the one of that jid to the queue, where it begins anew with all its retries: whoever has
  it loses it, and what is not given (priority, tags, retries, dependencies) stays as it was.
    delay    seconds; the job is scheduled until then
    tags     JSON list; replaces
    depends  JSON list of jids; those that exist and are not complete keep the job from running. An empty one
             changes nothing
  Returns the jid. Errors before anything is written: an argument that is missing or malformed.
]=]
-- include arguments
-- include events
-- include tracked
-- include history
-- include placing
-- include stamp
local worker, queue, jid, klass, data = args[1], args[2], args[3], args[4], args[5]
if not worker then error('Put(): Arg "worker" missing') end
if not queue then error('Put(): Arg "queue" missing') end
if not jid then error('Put(): Arg "jid" missing') end
if not klass then error('Put(): Arg "klass" missing') end
if json(data) == nil then error('Put(): Arg "data" missing or not JSON: ' .. tostring(data)) end
local delay = number(args[6])
if not delay then error('Put(): Arg "delay" not a number: ' .. tostring(args[6])) end
local given = #args > 6 and options(args, 7) or {}

local key = ql .. 'j:' .. jid
local old = redis.call('HMGET', key, 'priority', 'tags', 'queue', 'state', 'failure', 'retries', 'worker')
local exists = old[4]
local priority = number(given.priority or old[1] or 0)
if not priority then error('Put(): Arg "priority" not a number: ' .. tostring(given.priority)) end
local retries = integer(given.retries or old[6] or 5)
if not retries then error('Put(): Arg "retries" not a number: ' .. tostring(given.retries)) end
local depends = given.depends and strings(given.depends) or {}
if given.depends and not strings(given.depends) then
  error('Put(): Arg "depends" not JSON: ' .. given.depends)
end
local tags = given.tags and strings(given.tags)
if given.tags and not tags then error('Put(): Arg "tags" not JSON: ' .. given.tags) end

local queue_text = quote(queue)
say('log', '{"jid":' .. quote(jid) .. ',"event":"put","queue":' .. queue_text .. '}')
remember(jid, now, '"put",{"q":' .. queue_text .. '}')
if exists then
  -- include moving
  move_out(jid, old, worker)
  if #depends > 0 then drop_dependencies(jid, depends) end
end
if tags then
  -- include retagging
  retag(jid, old[2], tags, now)
end

local blocked = exists and redis.call('EXISTS', key .. '-dependencies') == 1
if #depends > 0 then
  -- include dependencies
  blocked = depend(jid, depends) or blocked
end
local due = delay > 0 and now + delay or nil
local turns = given.retries and string.format('%.0f', retries) or old[6] or '5'
local state = place(jid, queue, priority, now, due, blocked)
redis.call('HSET', key, 'jid', jid, 'klass', klass, 'data', data, 'priority', given.priority and priority or old[1] or '0', 'tags',
  tags and cjson.encode(tags) or old[2] or '[]', 'state', state, 'worker', '', 'expires', '0', 'queue', queue,
  'retries', turns, 'remaining', turns, 'time', stamp)
if blocked and due then redis.call('HSET', key, 'scheduled', due) end
know_queue(queue, stamp)
if is_tracked(jid) then tell('put', jid) end
return jid
