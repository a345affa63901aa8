-- Gives move_limited
-- include calls: call, try
-- include limit-refusal: limit_refusal
-- include limits: open_limits

--- Removes a job from where it waits for its key. Returns its time in ms and its priority; nil if it waits nowhere.
local function leave_key(limits, key, id)
  local keys = limits.keys
  local due = call('ZSCORE', keys.limits .. 'due', limits.entry_of(key, id))
  if due then
    limits.forget_time(key, id)
    return tonumber(due), 'normal'
  end
  for _, priority in ipairs(limits.PRIORITIES) do
    if call('LREM', limits.list_of(key, priority), 1, id) == 1 then return 0, priority end
  end
end

--- Moves a job with a key to another key, priority or time. Returns true, false if a worker has it, or an error reply. `keys`
--- has jobs, limits, wake and control; `target` and `score` are those of update.lua.
local function move_limited(keys, now, id, from, to, target, score)
  local hash = keys.jobs .. id
  local stored = call('HMGET', keys.control, 'limit', 'override')
  local refusal = limit_refusal(keys.limits, stored[1], { from })
  if refusal then return refusal end
  local limits = open_limits(keys, now, stored[1], stored[2])
  local wanted = ({ [3] = 'high', [4] = 'normal', [5] = 'low' })[target]
  -- In its list already, it keeps its place.
  if limits and from == to and wanted and type(try('LPOS', limits.list_of(from, wanted), id)) == 'number' then return true end
  local due, priority
  if limits then due, priority = leave_key(limits, from, id) end
  if not due then return false end
  if score ~= '' then due = score * 1000 elseif wanted then due, priority = 0, wanted end
  call('HSET', hash, 'key', to, 'queue', priority)
  if due > 0 then call('HSET', hash, 'due', string.format('%.0f', due)) else call('HDEL', hash, 'due') end
  if due > 0 then limits.await_time(to, id, due) else limits.await_turn(to, priority, id, false) end
  limits.let_go(from, id)
  limits.refresh(from)
  if call('EXISTS', keys.wake) == 0 then call('LPUSH', keys.wake, '1') end
  return true
end
