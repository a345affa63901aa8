--[[
  Records which function has a schedule, or removes that record, unless another call has changed it.

  KEYS[1] functions of all schedules
  ARGV[1] id   ARGV[2] the function that is recorded, as far as the client knows, or ''   ARGV[3] its function, or '' for none
  Returns the function that is recorded then, or ''.
]]
local id, known, fn = ARGV[1], ARGV[2], ARGV[3]
local recorded = redis.call('HMGET', KEYS[1], id)[1] or ''
if recorded ~= known then return recorded end
if fn == '' then redis.call('HDEL', KEYS[1], id) else redis.call('HSET', KEYS[1], id, fn) end
return fn
