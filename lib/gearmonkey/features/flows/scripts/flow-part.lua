--- Parts of a flow come in order. `flow` is its key, `part` the number of this one.
-- Gives sent_part, begin_part, end_part
-- include calls: call

--- Returns the result of this part if it was sent before; an error if an earlier one was lost, or one has failed; else nil.
local function sent_part(flow, part)
  local state = call('HMGET', flow, 'part', 'result')
  local known = tonumber(state[1] or '0')
  if known == part and state[2] ~= '' then return tonumber(state[2]) end
  if known ~= part - 1 or state[2] == '' then return redis.error_reply('FLOWLOST a part of this flow is gone or has failed') end
end

--- The first write of a part, which the server refuses if its memory is full. Without `end_part` behind it the part has
--- failed. `kept`: seconds for which a flow is kept that has not begun.
local function begin_part(flow, part, kept)
  call('HSET', flow, 'part', part, 'result', '')
  call('EXPIRE', flow, kept)
end

--- The last write of a part. Returns its result.
local function end_part(flow, result, ...)
  call('HSET', flow, 'result', string.format('%.0f', result), ...)
  return result
end
