--- The reply for one recurring job.
local recurring_text = cjson.encode
