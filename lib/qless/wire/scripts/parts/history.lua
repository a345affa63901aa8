-- include config: setting

--- Appends an item; `what` is JSON: a word and perhaps an object, as in '"put",{"q":"mail"}'.
--- `when` is seconds, or their integral part as text. Of more than `cap` (default: max-job-history) the first and the latest are kept; 0 keeps all.
local function append_history(jid, when, what, cap)
  if type(when) == 'number' then when = math.floor(when) end
  local key = prefix .. 'j:' .. jid .. '-history'
  local length = redis.call('RPUSH', key, '[' .. when .. ',' .. what .. ']')
  if length == 1 then return end
  if not cap then
    cap = setting('max-job-history', 100)
  end
  if cap <= 0 or length <= cap then return end
  local first = redis.call('LPOP', key)
  if cap > 1 then redis.call('LTRIM', key, 1 - cap, -1) else redis.call('DEL', key) end
  redis.call('LPUSH', key, first)
end
