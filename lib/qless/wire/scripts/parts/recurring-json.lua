--- The reply for one recurring job.
local recurring_json = cjson.encode
