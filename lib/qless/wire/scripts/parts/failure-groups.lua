-- include json: json
-- include counters: count_stat

--- The group and the time of a failure; nothing where a job has none.
local function failure_of(text)
  local failure = json(text or '{}')
  if type(failure) == 'table' and failure.group then return failure.group, tonumber(failure.when) or 0 end
end

--- Takes jobs off a group of failures. A list is searched from one end to the other: for several jobs once.
local function remove_from_group(group, jids)
  local key = prefix .. 'f:' .. group
  if #jids == 1 then
    redis.call('LREM', key, -1, jids[1])
  else
    local gone, kept = {}, {}
    for _, jid in ipairs(jids) do gone[jid] = true end
    for _, jid in ipairs(redis.call('LRANGE', key, 0, -1)) do
      if not gone[jid] then kept[#kept + 1] = jid end
    end
    redis.call('UNLINK', key)
    for from = 1, #kept, 1000 do redis.call('RPUSH', key, unpack(kept, from, math.min(from + 999, #kept))) end
  end
  if redis.call('EXISTS', key) == 0 then redis.call('SREM', prefix .. 'failures', group) end
end

--- Takes a failed job off its group and off the count of its day.
local function remove_failure(jid, queue, text)
  local group, when = failure_of(text)
  if not group then return end
  remove_from_group(group, { jid })
  count_stat(queue, when, 'failed', -1)
end
