-- include job-json: jobs_json

--- The reply for several jobs.
local jobs_reply = jobs_json
