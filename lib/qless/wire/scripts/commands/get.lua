--[=[
  get <now> jid

  Returns the job as JSON, or nil.
]=]
-- include job-json: job_json
-- include job: read_job

local jid = args[1]
if not jid then error('Get(): Arg "jid" missing') end
local job = read_job(jid)
return job and job_json(job, redis.call('ZSCORE', prefix .. 'tracked', jid) ~= false, true)
