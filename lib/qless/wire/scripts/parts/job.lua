-- include json: json
-- include deferred-work: is_cancelling

--- The list or object that the JSON of a hash field is.
local function decoded(text)
  if not text or text == '[]' or text == '{}' or text == '' then return {} end
  return json(text) or {}
end

--- The fields that `job_json` takes, in its order, and what only pop needs; false if there is no job, or the key is of
--- another type.
local function read_job(jid)
  if is_cancelling(jid) then return false end
  local job = redis.pcall('HMGET', prefix .. 'j:' .. jid, 'jid', 'klass', 'state', 'queue', 'worker', 'priority', 'expires',
    'retries', 'remaining', 'data', 'tags', 'failure', 'spawned_from_jid', 'time', 'history')
  return job[1] and job
end
