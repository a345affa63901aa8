-- include day: day_of, history_seconds

local function add_to_stat(queue, when, field, by)
  local key = prefix .. 's:stats:' .. day_of(when) .. ':' .. queue
  if by < 0 then by = -math.min(-by, tonumber(redis.call('HGET', key, field)) or 0) end
  if by == 0 then return end
  redis.call('HINCRBY', key, field, by)
  redis.call('EXPIRE', key, history_seconds('stats-history', 30))
end

--- Adds to a queue's counters of a day. Counts of failed jobs never fall below 0. Statistics stop no call.
local function count_stat(queue, when, field, by) pcall(add_to_stat, queue, when, field, by) end
