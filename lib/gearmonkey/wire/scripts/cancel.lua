--[[
  Ends a job that waits or that a worker of this package runs. A running job loses its lease, so its result is refused.

  KEYS[1] prefix of the job hashes   KEYS[2] prefix of the locks   KEYS[3] leases   KEYS[4] scheduled
  KEYS[5] high   KEYS[6] normal   KEYS[7] low   KEYS[8] channel   KEYS[9] channel of cancellations
  ARGV[1] now in ms, or ''   ARGV[2] id   ARGV[3] mark, or '' for any job with this id   ARGV[4] message
  ARGV[5] error as JSON
  Returns cancelled, finished, missing, lost (another job has the id) or running (on a plain worker, which can't be stopped).

  Removing an id from a list takes time linear in its length.
]]
-- include clock
-- include finish

local id, mark, message, failure = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local keys = { jobs = KEYS[1], locks = KEYS[2], channel = KEYS[8] }
local job = redis.call('HMGET', KEYS[1] .. id, 'status', 'token', 'error', 'mark')
if not job[1] then return 'missing' end
if mark ~= '' and (job[4] or '0') ~= mark then return 'lost' end
if job[3] == failure then return 'cancelled' end
if job[1] == 'success' or job[1] == 'error' then return 'finished' end

if job[1] == 'busy' then
  local member = id .. ':' .. (job[2] or '')
  if redis.call('ZREM', KEYS[3], member) == 0 then return 'running' end
  -- Without the right to publish this fails; the worker then finds out at its next renewal.
  redis.pcall('PUBLISH', KEYS[9], member)
elseif redis.call('ZREM', KEYS[4], id) == 0 then
  -- Searched from the left, where new jobs are. If it is in no list, a plain worker has it.
  local removed = 0
  for i = 5, 7 do
    if removed == 0 then removed = redis.call('LREM', KEYS[i], 1, id) end
  end
  if removed == 0 then return 'running' end
end
finish(keys, id, string.format('%.0f', clock(ARGV[1])), '', '', 'error', message, 'error', failure)
return 'cancelled'
