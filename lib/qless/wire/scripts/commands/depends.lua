--[=[
  depends <now> jid on jid…
  depends <now> jid off jid…
  depends <now> jid off all

  Adds dependencies to a job that has some, or takes some or all away; with the last one the job waits, or is
  scheduled where its delay is not over.
  Returns 1. Errors: Job <jid> not in the depends state: <state>; more than 5,000 jids.
]=]
-- include refusals: refuse
-- include limits: at_most, MOST_NAMED
-- include chunks: in_chunks
-- include dependencies: depend
-- include dependents: unblock
-- include rights: require_rights

local jid, command = args[1], args[2]
if not jid then error('Depends(): Arg "jid" missing') end
if not command then error('Depends(): Arg "command" missing') end
if command ~= 'on' and command ~= 'off' then error('Depends(): Argument "command" must be "on" or "off"') end
at_most(MOST_NAMED, #args - 2, 'Depends', 'jids a call')
local key = prefix .. 'j:' .. jid
local state = redis.call('HGET', key, 'state')
if state ~= 'depends' then
  return refuse('STATE', 'Depends(): Job ' .. jid .. ' not in the depends state: ' .. tostring(state))
end

require_rights('EXISTS', 'HDEL', 'HMGET', 'HSET', 'SADD', 'SREM', 'ZADD', 'ZMSCORE', 'ZREM')
local listed = {}
for i = 3, #args do listed[#listed + 1] = args[i] end
if command == 'on' then
  depend(jid, listed)
  return 1
end
if listed[1] == 'all' then listed = redis.call('SMEMBERS', key .. '-dependencies') end
for _, on in ipairs(listed) do redis.call('SREM', prefix .. 'j:' .. on .. '-dependents', jid) end
in_chunks('SREM', key .. '-dependencies', listed)
if redis.call('EXISTS', key .. '-dependencies') == 0 then unblock(jid, now) end
return 1
