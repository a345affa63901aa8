--[=[
  log <now> jid message [data]

  Appends a message to a job's history, with the fields of `data`, a JSON object. Returns nil.
  Errors: Job <jid> does not exist, data that is no JSON object (a NaN is none).
]=]
-- include history: append_history
-- include standard-json: standard_json
-- include json: json, quote
-- include refusals: raise

local jid, message, data = args[1], args[2], args[3]
if not jid then error("Log(): Argument 'jid' missing") end
if not message then error("Log(): Argument 'message' missing") end
local fields = data and standard_json(data)
if data and (not fields or type(json(data)) ~= 'table') then error("Log(): Argument 'data' not cjson: " .. data) end
if redis.call('EXISTS', prefix .. 'j:' .. jid) == 0 then raise('JOB_NOT_FOUND', 'Log(): Job ' .. jid .. ' does not exist') end
-- By hand, because the fields stay as they are, byte for byte.
append_history(jid, '[' .. math.floor(now) .. ',' .. quote(message) .. (fields and ',' .. fields or '') .. ']')
