--[=[
  timeout <now> jid…

  Takes running jobs from their workers at once; they are stalled, and are popped next. If one of them is not
  running nothing is done. Of more than 500, 250 are stalled in this call and the others in later ones: first those that a
  call names or could claim.
  Returns nil. Errors: Job <jid> does not exist, Job <jid> not running.
]=]
-- include limits: JOBS_A_CALL
-- include chunks: in_chunks
-- include stalled-jobs: stall
-- include config: setting
-- include deferred-work: is_cancelling, finish_deferred
-- include refusals: raise

if #args == 0 then error('Timeout(): Arg "jid" missing') end
local many, seen, jobs = #args > 2 * JOBS_A_CALL, {}, {}
local waits = redis.call('EXISTS', prefix .. 'stalling') == 1
for i, jid in ipairs(args) do
  local key, state = prefix .. 'j:' .. jid, nil
  if many then
    state = redis.call('HGET', key, 'state')
  else
    jobs[i] = redis.call('HMGET', key, 'state', 'queue', 'worker')
    state = jobs[i][1]
  end
  if not state or is_cancelling(jid) then raise('JOB_NOT_FOUND', 'Timeout(): Job ' .. jid .. ' does not exist') end
  if state ~= 'running' or seen[jid] or (waits and redis.call('SISMEMBER', prefix .. 'stalling', jid) == 1) then
    raise('STATE', 'Timeout(): Job ' .. jid .. ' not running')
  end
  seen[jid] = true
end
if many then
  in_chunks('SADD', prefix .. 'stalling', args)
  redis.call('SET', prefix .. 'stalling:since', string.format('%.17g', now))
  finish_deferred({}, JOBS_A_CALL)
  return
end
local cap = setting('max-job-history', 100)
for i, jid in ipairs(args) do stall(jid, jobs[i][2], jobs[i][3], now, cap) end
