--[=[
  heartbeat <now> jid worker [data]

  Extends the lock of a job that the worker holds, also after it has expired, unless another worker has the job; records
  that the worker was seen. Data, if given, replaces the job's.
  Returns when the lock expires now, cut to an integer. Errors: Job <jid> does not exist, not currently running, given out
  to another worker.
]=]
-- include policy: heartbeat_option
-- include refusals: refuse
-- include json: json
-- include number: number
-- include rights: require_rights

local jid, worker, data = args[1], args[2], args[3]
if not jid then error('Heartbeat(): Arg "jid" missing') end
if not worker then error('Heartbeat(): Arg "worker" missing') end
if data and json(data) == nil then error('Heartbeat(): Arg "data" not JSON: ' .. data) end

local key = prefix .. 'j:' .. jid
local job = redis.call('HMGET', key, 'worker', 'state', 'queue', 'grace')
if not job[2] then return refuse('JOB_NOT_FOUND', 'Heartbeat(): Job ' .. jid .. ' does not exist') end
if job[2] ~= 'running' then return refuse('STATE', 'Heartbeat(): Job ' .. jid .. ' not currently running: ' .. job[2]) end
if job[1] ~= worker or worker == '' then
  return refuse('JOB_LOST', 'Heartbeat(): Job ' .. jid .. ' given out to another worker: ' .. job[1])
end

local config = redis.call('HMGET', prefix .. 'config', heartbeat_option(job[3]), 'heartbeat')
local expires = now + (number(config[1]) or number(config[2]) or 60)
require_rights('HDEL', 'HSET', 'ZADD')
redis.call('HSET', key, 'expires', expires)
if data then redis.call('HSET', key, 'data', data) end
if job[4] then redis.call('HDEL', key, 'grace') end
redis.call('ZADD', prefix .. 'w:' .. worker .. ':jobs', expires, jid)
redis.call('ZADD', prefix .. 'q:' .. job[3] .. '-locks', expires, jid)
redis.call('ZADD', prefix .. 'workers', now, worker)
return expires
