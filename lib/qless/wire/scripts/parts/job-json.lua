-- include json: json, quote
-- include history-json: history_json
-- include number: number

--- A list or an object of a hash field, as JSON. Empty ones are {}, as cjson writes them.
local function nested(text)
  if not text or text == '[]' or text == '{}' or text == '' then return '{}' end
  local good, encoded = pcall(cjson.encode, json(text) or {})
  return good and encoded or '{}'
end

--- Names and numbers that recur in a reply are encoded once.
local quoted, numerals = {}, {}
local function name_json(name)
  local text = quoted[name]
  if not text then
    text = quote(name)
    quoted[name] = text
  end
  return text
end

local function number_json(value)
  if not value then return '0' end
  local text = numerals[value]
  if not text then
    text = tostring(number(value) or 0)
    numerals[value] = text
  end
  return text
end

local function links_json(key)
  if redis.call('EXISTS', key .. '-dependents', key .. '-dependencies') == 0 then
    return ',"dependents":{},"dependencies":{}}'
  end
  return ',"dependents":' .. cjson.encode(redis.call('SMEMBERS', key .. '-dependents'))
    .. ',"dependencies":' .. cjson.encode(redis.call('SMEMBERS', key .. '-dependencies')) .. '}'
end

--- The job as JSON; `linked` is false where no job depends on it, nor it on any. Written by hand: cjson takes three
--- times as long, and half of a pop is this.
local function job_json(job, tracked, linked)
  local jid = job[1]
  return '{"jid":' .. quote(jid) .. ',"klass":' .. name_json(job[2]) .. ',"state":' .. name_json(job[3])
    .. ',"queue":' .. name_json(job[4]) .. ',"worker":' .. name_json(job[5] or '') .. ',"tracked":' .. tostring(tracked)
    .. ',"priority":' .. number_json(job[6]) .. ',"expires":' .. number_json(job[7])
    .. ',"retries":' .. number_json(job[8]) .. ',"remaining":' .. number_json(job[9])
    .. ',"data":' .. quote(job[10]) .. ',"tags":' .. nested(job[11]) .. ',"history":' .. history_json(jid, job[15])
    .. ',"failure":' .. nested(job[12]) .. ',"spawned_from_jid":' .. quote(job[13] or false)
    .. (linked and links_json(prefix .. 'j:' .. jid) or ',"dependents":{},"dependencies":{}}')
end

--- The JSON of several jobs.
local function jobs_json(texts)
  if #texts == 0 then return '{}' end
  return '[' .. table.concat(texts, ',') .. ']'
end
