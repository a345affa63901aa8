-- include standard-json: standard_json

--- The reply for one recurring job: its data is no string, and goes in as it is.
local function recurring_json(job)
  local data = job.data
  job.data = nil
  return '{"data":' .. (data and (standard_json(data) or 'null') or '{}') .. ',' .. string.sub(cjson.encode(job), 2)
end
