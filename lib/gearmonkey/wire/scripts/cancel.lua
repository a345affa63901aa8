--[[
  Ends a job that waits or that a worker of this package runs. A running job loses its lease, so its result is refused.

  KEYS[1] prefix of the job hashes   KEYS[2] prefix of the locks   KEYS[3] leases   KEYS[4] scheduled
  KEYS[5] high   KEYS[6] normal   KEYS[7] low   KEYS[8] channel   KEYS[9] channel of cancellations   KEYS[10] wake marker
  ARGV[1] now in ms, or ''   ARGV[2] id   ARGV[3] mark, or '' for any job with this id   ARGV[4] message
  ARGV[5] error as JSON
  Returns cancelled, finished, missing, lost (another job has the id) or running (on a plain worker, which can't be stopped).

  Removing an id from a list takes time linear in its length.
]]
-- include clock
-- include finish
-- include limit-prefix

local id, mark, message, failure = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local call, pcall = redis.call, redis.pcall
local keys = { jobs = KEYS[1], locks = KEYS[2], channel = KEYS[8], limits = limit_prefix(KEYS[1]), wake = KEYS[10] }
keys.control = control_of(KEYS[1])
local now = clock(ARGV[1])

-- include limits

local job = call('HMGET', KEYS[1] .. id, 'status', 'token', 'error', 'mark', 'key')
if not job[1] then return 'missing' end
if mark ~= '' and (job[4] or '0') ~= mark then return 'lost' end
if job[3] == failure then return 'cancelled' end
if job[1] == 'success' or job[1] == 'error' then return 'finished' end

local limits = job[5] and open_limits(unpack(call('HMGET', keys.control, 'limit', 'override')))
--- Removes a job from where it waits. Searched from the left, where new jobs are.
local function remove_waiting(key)
  if call('ZREM', KEYS[4], id) == 1 or (limits and limits.forget_time(key, id) == 1) then return true end
  for i = 5, 7 do
    if call('LREM', KEYS[i], 1, id) == 1 then return true end
  end
  for _, priority in ipairs(limits and limits.PRIORITIES or {}) do
    if call('LREM', limits.list_of(key, priority), 1, id) == 1 then return true end
  end
  -- It holds its strict key, but was removed from where it waited.
  return job[1] == 'idle' and limits and limits.let_go(key, id)
end

local member = id .. ':' .. (job[2] or '')
if job[1] == 'busy' then
  if call('ZREM', KEYS[3], member) == 0 then return 'running' end
  -- Without the right to publish this fails; the worker then finds out at its next renewal.
  pcall('PUBLISH', KEYS[9], member)
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
