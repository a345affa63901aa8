--- Parts of a flow come in order. Uses `flow`, `part` and `kept` of the script. Returns the result of this part if it was
--- sent before; ends the script if an earlier one was lost.
local state = redis.call('HMGET', flow, 'part', 'result')
local known = tonumber(state[1] or '0')
if known == part then return tonumber(state[2]) end
if known ~= part - 1 then return redis.error_reply('FLOWLOST an earlier part of this flow is gone') end

--- The first write of a part, which the server refuses if its memory is full.
local function begin_part(result)
  redis.call('HSET', flow, 'part', part, 'result', result)
  redis.call('EXPIRE', flow, kept)
end
