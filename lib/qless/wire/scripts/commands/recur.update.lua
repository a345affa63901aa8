--[=[
  recur.update <now> jid [priority p] [interval I] [retries r] [data J] [klass k] [queue q] [backlog b]

  Changes a recurring job. A new interval shifts the next run by the difference.
  Returns 1. Errors before anything is written: No recurring job <jid>, a value of the wrong type, an unknown option.
]=]
-- include arguments: options, integer
-- include refusals: refuse
-- include work-queue: add_queue
-- include json: json
-- include number: number
-- include wake-ups: wake
-- include rights: require_rights

local jid = args[1]
if not jid then error('Recur(): Arg "jid" missing') end
local key = prefix .. 'r:' .. jid
local old = redis.call('HMGET', key, 'queue', 'interval')
if not old[1] then return refuse('JOB_NOT_FOUND', 'Recur(): No recurring job ' .. jid) end
local given = #args > 1 and options(args, 2) or {}
for name, value in pairs(given) do
  if name == 'data' then
    if json(value) == nil then error('Recur(): Arg "data" is not JSON-encoded: ' .. value) end
  elseif name == 'interval' or name == 'priority' then
    if not number(value) then error('Recur(): Arg "' .. name .. '" must be a number: ' .. value) end
  elseif name == 'retries' or name == 'backlog' then
    if not integer(value) then error('Recur(): Arg "' .. name .. '" must be a number: ' .. value) end
  elseif name ~= 'klass' and name ~= 'queue' then
    error('Recur(): Unrecognized option "' .. name .. '"')
  end
end
if given.interval and number(given.interval) <= 0 then error('Recur(): Arg "interval" must be greater than 0') end

require_rights('HSET', 'ZADD', 'ZINCRBY', 'ZREM', 'ZSCORE')
for name, value in pairs(given) do redis.call('HSET', key, name, value) end
if given.interval then
  redis.call('ZINCRBY', prefix .. 'q:' .. old[1] .. '-recur', number(given.interval) - tonumber(old[2]), jid)
end
if given.queue and given.queue ~= old[1] then
  local score = redis.call('ZSCORE', prefix .. 'q:' .. old[1] .. '-recur', jid)
  redis.call('ZREM', prefix .. 'q:' .. old[1] .. '-recur', jid)
  redis.call('ZADD', prefix .. 'q:' .. given.queue .. '-recur', score or now, jid)
  add_queue(given.queue, now)
end
wake(given.queue or old[1], 1)
return 1
