-- include deferred-work: has_deferred, finish_deferred

--- Whether the worker still holds the claim it made at the time `token`; the job's queue and data.
local function read_claim(jid, worker, token)
  if has_deferred then finish_deferred({ jid }, 0) end
  local job = redis.call('HMGET', prefix .. 'j:' .. jid, 'state', 'worker', 'time', 'queue', 'data')
  local held = job[1] == 'running' and job[2] == worker and tonumber(job[3]) == tonumber(token)
  return held, job[4], job[5]
end
