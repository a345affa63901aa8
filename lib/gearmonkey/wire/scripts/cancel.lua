--[[
  Ends a job that waits, or that a worker of ours runs: its lease goes, so that the worker's result is refused.

  KEYS[1] prefix of the job hashes   KEYS[2] prefix of the locks   KEYS[3] leases   KEYS[4] scheduled
  KEYS[5] high   KEYS[6] normal   KEYS[7] low   KEYS[8] channel   KEYS[9] channel of cancellations
  ARGV[1] now in ms, or ''   ARGV[2] id   ARGV[3] mark, or '' for whatever job has the id   ARGV[4] message
  ARGV[5] error as JSON
  Returns cancelled, finished, missing, lost: another job has the id; or running: by a plain worker, who can't be stopped.

  Taking an id out of a list is linear in its length.
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
  -- Without the right to publish: the worker learns it from its next renewal.
  redis.pcall('PUBLISH', KEYS[9], member)
elseif redis.call('ZREM', KEYS[4], id) == 0 then
  -- Newest first, as lists are pushed on the left; a plain worker may hold it by now.
  local removed = 0
  for i = 5, 7 do
    if removed == 0 then removed = redis.call('LREM', KEYS[i], 1, id) end
  end
  if removed == 0 then return 'running' end
end
finish(keys, id, string.format('%.0f', clock(ARGV[1])), '', '', 'error', message, 'error', failure)
return 'cancelled'
