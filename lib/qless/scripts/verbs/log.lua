--[=[
  log <now> jid message [data]

  Appends a message to a job's history, with the fields of `data`, a JSON object. Returns nil.
  Error: Job <jid> does not exist.
]=]
-- include arguments
-- include history
local jid, message, data = args[1], args[2], args[3]
if not jid then error("Log(): Argument 'jid' missing") end
if not message then error("Log(): Argument 'message' missing") end
if data and type(json(data)) ~= 'table' then error("Log(): Argument 'data' not cjson: " .. data) end
if redis.call('EXISTS', ql .. 'j:' .. jid) == 0 then error('Log(): Job ' .. jid .. ' does not exist') end
remember(jid, now, quote(message) .. (data and ',' .. data or ''))
