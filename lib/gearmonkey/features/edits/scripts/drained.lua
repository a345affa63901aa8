--- What a drain does with a job. `drain` has
---   keys          jobs, locks and channel
---   now           in ms
---   last, which   the largest id that is ended, and which jobs: arguments of drain.lua
---   ended         the ids of the jobs that have ended
-- Gives fate, finish_drained
-- include calls: try
-- include finish: finish
-- include foreign: count
-- include unbegun: is_unbegun

--- What becomes of a job in this queue: 'end', 'stay', or 'drop' for an id that no worker would run.
local function fate(drain, id)
  if (tonumber(id) or 0) > drain.last then return 'stay' end
  local job = try('HMGET', drain.keys.jobs .. id, 'status', 'attempts', 'snoozes', 'after', 'flow')
  -- Without a right to the job it may be one that a worker runs.
  if job.err and not string.find(job.err, '^WRONGTYPE') then return 'stay' end
  if job.err or not job[1] or job[1] == 'success' or job[1] == 'error' then return 'drop' end
  if is_unbegun(job[4], job[5]) then return 'stay' end
  local begun = count(job[2]) > 0 or count(job[3]) > 0
  local which = drain.which
  local chosen = which == '' or which == 'both' or which == (begun and 'retrying' or 'scheduled')
  return job[1] == 'idle' and chosen and 'end' or 'stay'
end

local FAILURE = '{"name":"JobDrainedError","code":"JOB_DRAINED","message":"drained"}'

--- Ends a job that was taken from its queue.
local function finish_drained(drain, id)
  local stamp, ended = string.format('%.0f', drain.now), drain.ended
  if finish(drain.keys, id, stamp, '', '', 'cancelled', 'drained', 'error', FAILURE) then ended[#ended + 1] = id end
end
