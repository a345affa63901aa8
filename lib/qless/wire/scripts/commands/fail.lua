--[=[
  fail <now> jid worker group message [data]

  Files a job that the worker holds under a group of failures. It stays there until it is put again, unfailed or
  cancelled.
  Returns the jid. Errors: Job <jid> does not exist, not currently running, running with another worker.
]=]
-- include refusals: refuse
-- include events: publish
-- include tracked-events: publish_tracked
-- include tracking: is_tracked
-- include failures: file_failure
-- include json: json
-- include failing-rights: require_rights_to_fail

local jid, worker, group, message, data = args[1], args[2], args[3], args[4], args[5]
if not jid then error('Fail(): Arg "jid" missing') end
if not worker then error('Fail(): Arg "worker" missing') end
if not group then error('Fail(): Arg "group" missing') end
if not message then error('Fail(): Arg "message" missing') end
if data and json(data) == nil then error('Fail(): Arg "data" not JSON: ' .. data) end

local key = prefix .. 'j:' .. jid
local job = redis.call('HMGET', key, 'queue', 'state', 'worker')
if not job[2] then return refuse('JOB_NOT_FOUND', 'Fail(): Job ' .. jid .. ' does not exist') end
if job[2] ~= 'running' then return refuse('STATE', 'Fail(): Job ' .. jid .. ' not currently running: ' .. job[2]) end
if job[3] ~= worker then return refuse('JOB_LOST', 'Fail(): Job ' .. jid .. ' running with another worker: ' .. job[3]) end

require_rights_to_fail()
publish('log', { message = message, jid = jid, group = group, event = 'failed', worker = worker })
if is_tracked(jid) then publish_tracked('failed', jid) end
redis.call('ZREM', prefix .. 'w:' .. worker .. ':jobs', jid)
redis.call('ZREM', prefix .. 'q:' .. job[1] .. '-locks', jid)
if data then redis.call('HSET', key, 'data', data) end
file_failure(jid, job[1], { group = group, message = message, worker = worker }, now, worker)
return jid
