-- include job-text
--- The reply for several jobs.
local jobs_reply = jobs_text
