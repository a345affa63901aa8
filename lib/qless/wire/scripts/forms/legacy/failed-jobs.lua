-- include job-list: job_list
-- include limits: JOBS_A_CALL
-- include job-json: jobs_json

--- The jobs of a group of failures, whole, as many as a call shows.
local function failed_jobs(jids)
  for i = #jids, JOBS_A_CALL + 1, -1 do jids[i] = nil end
  return jobs_json((job_list(jids)))
end
