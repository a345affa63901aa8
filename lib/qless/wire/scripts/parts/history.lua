-- include number: number

--- An item of a history; `fields` is a table, or nil. The list is written by hand: a table more costs put 2 %.
local function history_item(when, what, fields)
  return '[' .. math.floor(when) .. ',"' .. what .. (fields and '",' .. cjson.encode(fields) .. ']' or '"]')
end

--- Appends an item. Of more than `cap` (default: max-job-history) the first and the latest are kept, two at least; 0
--- keeps all.
local function append_history(jid, item, cap)
  local key = prefix .. 'j:' .. jid .. '-history'
  local length = redis.call('RPUSH', key, item)
  if length == 1 then return end
  cap = cap or number(redis.call('HGET', prefix .. 'config', 'max-job-history')) or 100
  if cap <= 0 or length <= math.max(cap, 2) then return end
  -- An item too many stops no call.
  local first = redis.pcall('LPOP', key)
  if type(first) ~= 'string' then return end
  redis.pcall('LTRIM', key, 1 - math.max(cap, 2), -1)
  redis.pcall('LPUSH', key, first)
end
