--- What becomes of a new job, and of others, if its key is full. `limits.keys` has also leases and cancel.
-- Gives store_numbers, is_full, replace
-- include calls: call, try
-- include finish: finish
-- include limit-refusal: shared_by

--- Stores the numbers of a shared limit unless there are some.
local function store_numbers(rules, numbers)
  local shared = shared_by(rules)
  if shared then call('HSETNX', 'shared-limit:' .. shared .. ':rules', 'limit', numbers) end
end

--- Whether a key has no room for one more job. Also returns when it may have room again, if that is known. `more`: jobs of this call that will wait as well.
local function is_full(limits, key, more)
  local time = limits.blocked(key)
  if time then return true, time ~= limits.NEVER and time or nil end
  local waiting = more
  for _, priority in ipairs(limits.PRIORITIES) do waiting = waiting + call('LLEN', limits.list_of(key, priority)) end
  if limits.strict and waiting > 0 then return true end
  local running = limits.concurrency and call('SCARD', limits.space .. 'running:' .. key)
  if running and running + waiting >= limits.concurrency then return true end
  if not limits.max then return false end
  if waiting >= limits.max then return true end
  -- With that many jobs before it, this start is the one that it would have to wait for.
  local start = call('LINDEX', limits.space .. 'starts:' .. key, waiting - limits.max)
  if not start or start + limits.per < limits.now then return false end
  return true, start + limits.per + 1
end

--- How many jobs of one key a call cancels: more would block the server.
local MAX_REPLACED = 1000

--- Cancels a job with this status; one that has ended or is gone lets its key go as well.
local function replace_one(limits, key, id, by, wanted)
  local keys = limits.keys
  local text = 'replaced by job ' .. by .. ' with the same key'
  local failure = cjson.encode({ name = 'JobCancelledError', code = 'JOB_CANCELLED', message = text })
  local status = call('HGET', keys.jobs .. id, 'status')
  if status ~= wanted and (status == 'idle' or status == 'busy') then return end
  if status == wanted then
    finish(keys, id, string.format('%.0f', limits.now), '', '', 'cancelled', text, 'error', failure)
  end
  limits.let_go(key, id)
end

--- Cancels the jobs of a key that wait, also those that wait for a time, and if `running` those that run.
local function replace(limits, key, running, by)
  local keys = limits.keys
  for _, priority in ipairs(limits.PRIORITIES) do
    local list = limits.list_of(key, priority)
    local ids = call('LRANGE', list, 0, MAX_REPLACED - 1)
    for _, id in ipairs(ids) do replace_one(limits, key, id, by, 'idle') end
    call('LTRIM', list, MAX_REPLACED, -1)
  end
  for _, id in ipairs(call('SRANDMEMBER', keys.limits .. 'later:' .. key, MAX_REPLACED)) do
    limits.forget_time(key, id)
    replace_one(limits, key, id, by, 'idle')
  end
  if running then
    for _, member in ipairs(call('SRANDMEMBER', limits.space .. 'running:' .. key, MAX_REPLACED)) do
      local own = string.sub(member, 1, #limits.mark) == limits.mark and string.sub(member, #limits.mark + 1)
      if own and call('ZREM', keys.leases, own) == 1 then
        try('PUBLISH', keys.cancel, own)
        replace_one(limits, key, string.match(own, '^(.*):%d+$'), by, 'busy')
        limits.vacate(key, own)
      end
    end
  end
  limits.refresh(key)
end
