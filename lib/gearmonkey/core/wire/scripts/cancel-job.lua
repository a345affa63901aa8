-- Gives cancel_job
-- include calls: call, try
-- include end-refusal: end_refusal
-- include finish: finish
-- include limit-refusal: limit_refusal
-- include limits: open_limits
-- include refusals: refusal_of
-- include unbegun: is_unbegun

--- Ends a job that waits or that a worker of this package runs. `keys` are those of cancel.lua. Returns
--- cancelled, cancelled-before, finished, missing, lost or running, as cancel.lua, or an error if the user may not write that. Lists are searched from the left, where new jobs are.
--- `spares`: one that runs goes on, and lists are searched from the right, as for the oldest of many.
local function cancel_job(keys, now, id, mark, message, failure, spares)
  local job = call('HMGET', keys.jobs .. id, 'status', 'token', 'error', 'mark', 'key', 'after', 'flow')
  if not job[1] or is_unbegun(job[6], job[7]) then return 'missing' end
  if mark ~= '' and (job[4] or '0') ~= mark then return 'lost' end
  if job[3] == failure then return 'cancelled-before' end
  if job[1] == 'success' or job[1] == 'error' then return 'finished' end
  if spares and job[1] == 'busy' then return 'running' end
  local stored = job[5] and call('HMGET', keys.control, 'limit', 'override')
  local refusal = end_refusal(keys, 'cancelled') or refusal_of('ZREM', keys.scheduled) or refusal_of('ZREM', keys.leases)
    or refusal_of('LREM', keys.normal) or (stored and (limit_refusal(keys.limits, stored[1], { job[5] }) or refusal_of('EXISTS LPUSH', keys.wake)))
  if refusal then return refusal end

  local limits = stored and open_limits(keys, now, unpack(stored))
  local side = spares and -1 or 1
  --- Removes a job from where it waits.
  local function remove_waiting(key)
    if call('ZREM', keys.scheduled, id) == 1 or (limits and limits.forget_time(key, id) == 1) then return true end
    for _, queue in ipairs({ 'high', 'normal', 'low' }) do
      if call('LREM', keys[queue], side, id) == 1 then return true end
    end
    for _, priority in ipairs(limits and limits.PRIORITIES or {}) do
      if call('LREM', limits.list_of(key, priority), side, id) == 1 then return true end
    end
    -- It holds its strict key, but was removed from where it waited.
    return job[1] == 'idle' and limits and limits.let_go(key, id)
  end

  local member = id .. ':' .. (job[2] or '')
  if job[1] == 'busy' then
    if call('ZREM', keys.leases, member) == 0 then return 'running' end
    -- Without the right to publish this fails; the worker then finds out at its next renewal.
    try('PUBLISH', keys.cancel, member)
  elseif not remove_waiting(job[5]) then
    -- It is in no list: a plain worker has it.
    return 'running'
  end
  finish(keys, id, string.format('%.0f', now), '', '', 'cancelled', message, 'error', failure)
  if limits then
    limits.let_go(job[5], id)
    if job[2] then limits.vacate(job[5], member) else limits.refresh(job[5]) end
    if limits.freed and call('EXISTS', keys.wake) == 0 then call('LPUSH', keys.wake, '1') end
  end
  return 'cancelled'
end
