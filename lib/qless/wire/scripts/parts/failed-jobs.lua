--- The jobs of a group of failures: their jids.
local failed_jobs = cjson.encode
