-- include job: decoded
-- include standard-json: standard_json
-- include json: json
-- include number: number

--- One record for each stage: the queue, when it was put, popped, failed and done, and the worker.
local function stages_of(jid, early)
  local items = redis.call('LRANGE', prefix .. 'j:' .. jid .. '-history', 0, -1)
  local stages = early and json(early) or {}
  for _, item in ipairs(json('[' .. table.concat(items, ',') .. ']') or {}) do
    local when, what = item[1], item[2]
    local fields, stage = type(item[3]) == 'table' and item[3] or {}, stages[#stages]
    if what == 'put' or not stage then
      stage = { q = fields.q }
      stages[#stages + 1] = stage
    end
    if what == 'popped' then stage.worker = fields.worker end
    if what == 'put' or what == 'popped' or what == 'failed' or what == 'done' then stage[what] = when end
  end
  return stages
end

--- The job as JSON. Its data is JSON already, and is inserted as it is.
local function job_json(job, tracked)
  local key = prefix .. 'j:' .. job[1]
  return '{"data":' .. (job[10] and (standard_json(job[10]) or 'null') or '{}') .. ',' .. string.sub(cjson.encode({
    jid = job[1],
    klass = job[2],
    state = job[3],
    queue = job[4],
    worker = job[5] or '',
    tracked = tracked,
    priority = number(job[6]) or 0,
    expires = number(job[7]) or 0,
    retries = number(job[8]) or 0,
    remaining = math.floor(number(job[9]) or 0),
    tags = decoded(job[11]),
    history = stages_of(job[1], job[15]),
    failure = decoded(job[12]),
    dependents = redis.call('SMEMBERS', key .. '-dependents'),
    dependencies = redis.call('SMEMBERS', key .. '-dependencies'),
  }), 2)
end

--- The JSON of several jobs.
local function jobs_json(texts)
  if #texts == 0 then return '{}' end
  return '[' .. table.concat(texts, ',') .. ']'
end
