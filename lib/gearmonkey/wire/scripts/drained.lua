-- What a drain does with a job. Uses `keys`, `last`, `which`, `ended` and `now` of the script.

-- include unbegun

--- What becomes of a job in this queue: 'end', 'stay', or 'drop' for an id that no worker would run.
local function fate(id)
  if (tonumber(id) or 0) > last then return 'stay' end
  local job = pcall('HMGET', keys.jobs .. id, 'status', 'attempts', 'snoozes', 'after', 'flow')
  if job.err or not job[1] or job[1] == 'success' or job[1] == 'error' then return 'drop' end
  if is_unbegun(job[4], job[5]) then return 'stay' end
  local begun = count(job[2]) > 0 or count(job[3]) > 0
  local chosen = which == '' or which == 'both' or which == (begun and 'retrying' or 'scheduled')
  return job[1] == 'idle' and chosen and 'end' or 'stay'
end

local FAILURE = '{"name":"JobDrainedError","code":"JOB_DRAINED","message":"drained"}'

--- Ends a job that was taken from its queue.
local function finish_drained(id)
  if finish(keys, id, string.format('%.0f', now), '', '', 'cancelled', 'drained', 'error', FAILURE) then ended[#ended + 1] = id end
end
