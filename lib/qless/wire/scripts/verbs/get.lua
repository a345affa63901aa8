--[=[
  get <now> jid

  Returns the job as JSON, or nil.
]=]
-- include job-text
local jid = args[1]
if not jid then error('Get(): Arg "jid" missing') end
local job = read_job(jid)
return job and job_text(job, redis.call('ZSCORE', ql .. 'tracked', jid) ~= false, true)
