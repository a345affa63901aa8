--- Whether the worker has the job by the claim that was made at the time `token`; the job's queue and data.
local function claimed(jid, worker, token)
  if left_over then finish({ jid }, 0) end
  local job = redis.call('HMGET', ql .. 'j:' .. jid, 'state', 'worker', 'time', 'queue', 'data')
  local held = job[1] == 'running' and job[2] == worker and tonumber(job[3]) == tonumber(token)
  return held, job[4], job[5]
end
