--- The reply for several jobs.
local function jobs_reply(texts) return texts end
