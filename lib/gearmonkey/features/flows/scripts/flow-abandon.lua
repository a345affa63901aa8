--[[
  Removes a flow unless it has begun: after a failure its client doesn't know.

  KEYS[1] flow   KEYS[2] list of its jobs
  Returns 1 if the flow has begun, else 0: then it can't begin any more.
]]
if redis.call('HMGET', KEYS[1], 'total')[1] then return 1 end
redis.call('DEL', KEYS[1], KEYS[2])
return 0
