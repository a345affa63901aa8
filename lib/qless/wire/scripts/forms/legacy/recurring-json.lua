-- include standard-json: standard_json

--- The reply for one recurring job: its data is JSON already, and is inserted as it is.
local function recurring_json(job)
  local data = job.data
  job.data = nil
  return '{"data":' .. (data and (standard_json(data) or 'null') or '{}') .. ',' .. string.sub(cjson.encode(job), 2)
end
