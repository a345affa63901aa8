-- Gives fields
-- include calls: try

--- Fields of a job; empty if its key is no hash.
local function fields(jobs, id, ...)
  local job = try('HMGET', jobs .. id, ...)
  return job.err and {} or job
end
