--[[
  Puts jobs that failed or were cancelled back into their queues, or deletes them: at most 100 in a call.

  KEYS[1] prefix of the job hashes   KEYS[2] prefix of the locks   KEYS[3] channel   KEYS[4] control   KEYS[5] high
  KEYS[6] normal   KEYS[7] low   KEYS[8] wake marker   KEYS[9] ended: failed   KEYS[10] ended: cancelled
  KEYS[11] scheduled
  ARGV[1] now in ms, or ''   ARGV[2] retry or discard   ARGV[3] name of this call; '' for a discard that was not sent before
  ARGV[4…] id and `finished` of each job as they were read; `finished` is '' for a job of a plain worker
  Returns how many jobs it has moved or deleted.

  A job that has changed meanwhile is left out, and so is one that others wait for, where jobs are deleted. A call that is sent again after a lost reply does nothing twice and returns
  the same number, unless a job was moved or deleted by another call in between.
]]
-- include calls: call, try
-- include clock: clock
-- include flow-functions: note_function
-- include foreign: count
-- include limit-prefix: limit_prefix
-- include limit-refusal: limit_refusal
-- include limits: open_limits
-- include refusals: refusal_of
-- include refuses-writes: refuses_writes
-- include unbegun: flow_key, is_unbegun

local verb, name = ARGV[2], ARGV[3]
local keys = { jobs = KEYS[1], limits = limit_prefix(KEYS[1]), wake = KEYS[8], high = KEYS[5], normal = KEYS[6], low = KEYS[7] }
local fn = string.sub(KEYS[1], 5, -2)
local members = 'queue:' .. fn .. ':flows'
local now = clock(ARGV[1])
local stamp = string.format('%.0f', now)

local control = call('HMGET', KEYS[4], 'limit', 'override')
local limits = control[1] and open_limits(keys, now, control[1], control[2])

local function unlist(id)
  call('ZREM', KEYS[9], id)
  call('ZREM', KEYS[10], id)
end

--- The options without the time from which the job was not begun any more. Quotes in texts of JSON are escaped.
local function without_expiry(options)
  local text, found = string.gsub(options, ',%s*"expires"%s*:%s*%d+', '', 1)
  if found == 0 then text, found = string.gsub(options, '"expires"%s*:%s*%d+%s*,', '', 1) end
  if found == 0 then text = string.gsub(options, '"expires"%s*:%s*%d+', '', 1) end
  return text
end

--- Removes a job that had expired from where it still waits. Searched from the right, where old jobs are.
local function remove_waiting(id, key)
  if type(try('ZREM', KEYS[11], id)) ~= 'number' then return end
  for _, priority in ipairs({ 'high', 'normal', 'low' }) do
    try('LREM', keys[priority], -1, id)
    if key and limits then try('LREM', limits.list_of(key, priority), -1, id) end
  end
  if key and limits then pcall(limits.forget_time, key, id) end
end

--- Puts a job behind those that wait in its queue, or in the list of its key. Returns false if that has another type.
local function queued(id, from, key)
  local priority = (from == 'high' or from == 'low') and from or 'normal'
  if key and limits then
    -- It may have expired while it held its strict key: it does so no more, behind the others.
    local has_let_go = limits.let_go(key, id)
    local waits = limits.await_turn(key, priority, id, false)
    if has_let_go then limits.refresh(key) end
    return waits
  end
  local pushed = try('LPUSH', keys[priority], id)
  if refuses_writes(pushed) then call('LPUSH', keys[priority], id) end
  return type(pushed) == 'number'
end

--- How many jobs of a list are looked at for their functions.
local MOST_LOOKED = 500

--- A function without workers of this package has a leader of another one look at its jobs, as when they were created.
local function note_again(hash, flow)
  local _, _, root = flow_key(flow)
  if root then note_function(root, fn) end
  for _, suffix in ipairs({ ':children', ':parents' }) do
    local entries = try('LRANGE', hash .. suffix, 0, MOST_LOOKED - 1)
    for i = 1, #entries do note_function(string.match(entries[i], '^%d+:%d*:(.+)$') or fn, fn) end
  end
end

--- Counts a job of a flow as unfinished again. One that has not been settled was not counted yet.
local function return_to_flow(id, flow)
  local key = flow_key(flow)
  if not key or call('EXISTS', key) == 0 then return end
  if call('ZADD', members, 'NX', '1', id) == 0 then return end
  call('HINCRBY', key, 'failed', '-1')
  call('PERSIST', key)
  call('PERSIST', key .. ':jobs')
end

local function retry(id, job)
  if job[7] == '1' then remove_waiting(id, job[4]) end
  if not queued(id, job[3], job[4]) then return 0 end
  local hash = keys.jobs .. id
  local fields = { 'status', 'idle', 'attempts', '0', 'retried', name }
  if job[5] and string.find(job[5], '"expires"', 1, true) then
    fields[7], fields[8] = 'options', without_expiry(job[5])
  end
  call('HSET', hash, unpack(fields))
  call('HDEL', hash, 'output', 'error', 'finished', 'stalls', 'isolated', 'snoozes', 'due', 'retry', 'cancelled', 'queued', 'after', 'place', 'status:dividend',
    'status:divisor')
  -- It may have failed because a signal did not come in time: it waits for that anew.
  for name in string.gmatch(job[8] or '', '[^:]+') do call('HDEL', hash, 'waits', 'wait:' .. name) end
  if job[9] then return_to_flow(id, job[9]) end
  for _, suffix in ipairs({ '', ':children', ':parents' }) do call('PERSIST', hash .. suffix) end
  -- Its lists expire again once it has been settled, which members are; and it is kept for those that may read it.
  if count(job[10]) > 0 or call('EXISTS', hash .. ':children', hash .. ':parents') > 0 then call('ZADD', members, 'NX', '1', id) end
  if call('ZSCORE', members, id) then note_again(hash, job[9]) end
  call('DEL', KEYS[2] .. id)
  unlist(id)
  try('PUBLISH', KEYS[3], 'create:' .. id)
  return 1
end

local function discard(id, job)
  local hash = keys.jobs .. id
  -- Jobs that wait for it, or read its output, have not ended.
  if count(job[10]) > 0 or call('ZSCORE', members, id) then return 0 end
  call('DEL', hash, hash .. ':output', hash .. ':log', hash .. ':children', hash .. ':parents')
  unlist(id)
  return 1
end

--- An error reply, if a job was left out because the user may not write what its flow needs.
local refusal

--- Returns 1 if the job was moved or deleted, by this call or when it was sent before.
local function mend(id, finished)
  local job = try('HMGET', keys.jobs .. id, 'status', 'finished', 'queue', 'key', 'options', 'retried', 'queued', 'waits',
    'flow', 'held', 'after')
  if job.err then return 0 end
  if verb == 'discard' and not job[1] then
    unlist(id)
    -- Deleted by this call, if that was sent before, or by another.
    return name == '' and 0 or 1
  end
  if verb == 'retry' and job[6] == name then return 1 end
  if job[1] ~= 'error' or (job[2] or '') ~= finished or is_unbegun(job[11], job[9]) then return 0 end
  local flow = verb == 'retry' and flow_key(job[9])
  local lacks = flow and refusal_of('EXISTS HINCRBY PERSIST', flow)
  if lacks then
    refusal = lacks
    return 0
  end
  return verb == 'retry' and retry(id, job) or verb == 'discard' and discard(id, job) or 0
end

refusal = refusal_of('HMGET HSET HDEL PERSIST EXISTS DEL', keys.jobs .. 'x') or refusal_of('ZADD ZREM', KEYS[9])
  or refusal_of('DEL', KEYS[2] .. 'x') or refusal_of('ZADD ZSCORE', members) or refusal_of('LPUSH LREM', keys.normal)
  or refusal_of('ZREM', KEYS[11]) or refusal_of('EXISTS LPUSH', keys.wake) or (limits and limit_refusal(keys.limits, control[1], {}))
if refusal then return refusal end

-- Writes nothing, as no job has this name: a server that takes no writes refuses it, and so the whole call, unless that was sent
-- before.
local written = verb == 'retry' and try('ZADD', KEYS[9], 'XX', stamp, name)
if refuses_writes(written) then
  local retried = 0
  -- After a failover another server answers, which may not have retried them.
  for i = 4, refuses_writes(written, { 'OOM', 'MISCONF' }) and math.min(#ARGV, 203) or 0, 2 do
    if try('HMGET', keys.jobs .. ARGV[i], 'retried')[1] == name then retried = retried + 1 end
  end
  return retried > 0 and retried or written
end

local mended = 0
for i = 4, math.min(#ARGV, 203), 2 do mended = mended + mend(ARGV[i], ARGV[i + 1]) end
if mended == 0 and refusal then return refusal end
if verb == 'retry' and mended > 0 and call('EXISTS', keys.wake) == 0 then call('LPUSH', keys.wake, '1') end
return mended
