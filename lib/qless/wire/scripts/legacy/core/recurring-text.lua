-- include sound
--- The reply for one recurring job: its data is no string, and goes in as it is.
local function recurring_text(job)
  local data = job.data
  job.data = nil
  return '{"data":' .. (data and (sound(data) or 'null') or '{}') .. ',' .. string.sub(cjson.encode(job), 2)
end
