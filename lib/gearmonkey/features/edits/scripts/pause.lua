--[[
  Pauses a function or resumes it. While its control hash has the field `paused`, `claim` claims none of its jobs.

  KEYS[1] control hash and channel of its changes   KEYS[2] scheduled   KEYS[3] high   KEYS[4] normal   KEYS[5] low
  KEYS[6] wake marker
  ARGV[1] now in ms, or ''   ARGV[2] 1 to pause, 0 to resume
  Returns 1, or 0 if that was so already.

  Its first write uses no memory: Redis then allows the others even if its memory is full.
]]
-- include calls: call
-- include clock: clock
-- include refusals: refusal_of

local control, pauses = KEYS[1], ARGV[2] == '1'
local is_paused = call('HMGET', control, 'paused')[1] ~= false
if is_paused == pauses then return 0 end
local refusal = refusal_of('PUBLISH', control) or refusal_of('HDEL HSET', control) or refusal_of('EXISTS LPUSH', KEYS[6])
if refusal then return refusal end
call('PUBLISH', control, pauses and 'paused' or 'resumed')
call('HDEL', control, 'paused')
if pauses then
  call('HSET', control, 'paused', string.format('%.0f', clock(ARGV[1])))
elseif call('EXISTS', KEYS[6]) == 0 and (call('EXISTS', unpack(KEYS, 2, 5)) > 0 or call('HMGET', control, 'limit')[1]) then
  -- One worker wakes up. It learns when the next scheduled job is due, and wakes others if there is more to do.
  call('LPUSH', KEYS[6], '1')
end
return 1
