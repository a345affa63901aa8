--[=[
  failed <now>
  failed <now> group [start [limit=25]]

  Returns {group: count}, or for a group {total, jobs}: the jids from `start` on, the latest failure first.
]=]
-- include arguments: integer
-- include failed-jobs: failed_jobs

local group, start, limit = args[1], integer(args[2] or 0), integer(args[3] or 25)
if not start then error('Failed(): Arg "start" is not a number: ' .. tostring(args[2])) end
if not limit then error('Failed(): Arg "limit" is not a number: ' .. tostring(args[3])) end
if not group then
  local counts = {}
  for _, name in ipairs(redis.call('SMEMBERS', prefix .. 'failures')) do
    counts[name] = redis.call('LLEN', prefix .. 'f:' .. name)
  end
  return cjson.encode(counts)
end
local key = prefix .. 'f:' .. group
local jids = redis.call('LRANGE', key, start, start + limit - 1)
return '{"total":' .. redis.call('LLEN', key) .. ',"jobs":' .. failed_jobs(jids) .. '}'
