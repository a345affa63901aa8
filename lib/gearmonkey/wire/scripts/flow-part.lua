--- Parts of a flow come in order. Uses `flow`, `part` and `kept` of the script. Returns the result of this part if it was
--- sent before; ends the script if an earlier one was lost, or one has failed.
local state = redis.call('HMGET', flow, 'part', 'result')
local known = tonumber(state[1] or '0')
if known == part and state[2] ~= '' then return tonumber(state[2]) end
if known ~= part - 1 or state[2] == '' then return redis.error_reply('FLOWLOST a part of this flow is gone or has failed') end

--- The first write of a part, which the server refuses if its memory is full. Without `end_part` behind it the part has failed.
local function begin_part()
  redis.call('HSET', flow, 'part', part, 'result', '')
  redis.call('EXPIRE', flow, kept)
end

--- The last write of a part. Returns its result.
local function end_part(result, ...)
  redis.call('HSET', flow, 'result', string.format('%.0f', result), ...)
  return result
end
