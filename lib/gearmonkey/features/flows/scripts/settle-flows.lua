--[[
  Does what follows from the ends of jobs that belong to flows or that others wait for, in bounded steps.

  KEYS[1] members of flows   KEYS[2] prefix of the job hashes
  ARGV[1] now in ms, or ''   ARGV[2] most pairs of jobs that this call looks at   ARGV[3] 1 to look for members that plain
  workers have ended or that have expired, and for jobs whose flow never began   ARGV[4…] ids of jobs whose flow may never have begun
  Returns 1 if there is more to do, else 0, the names of other functions that have to be settled, those of functions to look at
  because jobs of this one wait for theirs, and what went wrong, or ''.

  Members have the score 0 while they wait for others, 1 from then on, 2 once they have ended, and 2.5 if that could not be
  settled, as for lack of a right, or since their flow has not begun: others go on, and it is tried again with the next look.
  Those of the score 3 are no jobs, but functions: flow-functions.lua.
]]
-- include calls: call, try
-- include clock: clock
-- include expiry: EXPIRES, expire_waiting
-- include flow-functions: note_function
-- include flow-keys: keys_of, parse_entry
-- include flow-moves: flow_turn, release, stop_if
-- include foreign: count
-- include reads: read
-- include refusals: refusal_of
-- include unbegun: flow_key, is_unbegun

local members, k = KEYS[1], keys_of(string.sub(KEYS[2], 5, -2))
local now, budget = clock(ARGV[1]), tonumber(ARGV[2])
local turn = flow_turn(now)
k.has_flows = true

--- The part of a list behind what was done of it.
local function rest_of(list, done)
  return read({}, 'LRANGE', list, done, done + budget - 1)
end

--- Ends the time for which the hash of a job is kept, and what belongs to it.
local function let_expire(key, seconds)
  for _, suffix in ipairs({ '', ':children', ':parents' }) do try('EXPIRE', key .. suffix, seconds or '90000') end
end

--- Tells a parent that one job less may read its output.
local function let_go(entry)
  local id, mark, fn = parse_entry(entry)
  if not id then return end
  local pk = keys_of(fn)
  local job = read({}, 'HMGET', pk.jobs .. id, 'held', 'mark', 'kept')
  -- If its key was deleted by hand, its lists were kept for those that waited.
  if not job[1] and call('EXISTS', pk.jobs .. id) == 0 then return let_expire(pk.jobs .. id) end
  if not job[1] or (job[2] or '0') ~= mark then return end
  stop_if(refusal_of('ZADD ZSCORE', pk.members))
  if call('HINCRBY', pk.jobs .. id, 'held', '-1') > 0 then return end
  local status = call('HMGET', pk.jobs .. id, 'status')[1]
  if status ~= 'success' and status ~= 'error' then return end
  if not call('ZSCORE', pk.members, id) then return let_expire(pk.jobs .. id, job[3]) end
  -- Its function may have no worker that would notice.
  call('ZADD', pk.members, '2', id)
  turn.touched[fn] = true
end

--- Flows that have changed in this call, by their keys.
local changed = {}
local function count_end(flow, succeeded)
  local key, name, fn = flow_key(flow)
  if not key or call('EXISTS', key) == 0 then return end
  call('HINCRBY', key, succeeded and 'done' or 'failed', '1')
  changed[key] = { name = name, fn = fn }
end

local function tell_flows()
  for key, flow in pairs(changed) do
    local state = call('HMGET', key, 'total', 'done', 'failed')
    if state[1] and count(state[2]) + count(state[3]) >= count(state[1]) then
      call('EXPIRE', key, '90000')
      call('EXPIRE', key .. ':jobs', '90000')
    end
    try('PUBLISH', keys_of(flow.fn).progress, 'flow:' .. flow.name)
  end
end

--- Goes on with a list of an ended job. Returns whether it is done; an error stops it where it is.
local function go_on(key, list, field, from, act)
  local entries = rest_of(key .. list, from)
  budget = budget - #entries
  for i, entry in ipairs(entries) do
    local is_done, failure = pcall(act, entry)
    if not is_done then
      call('HSET', key, field, from + i - 1)
      error(failure, 0)
    end
  end
  if #entries > 0 then call('HSET', key, field, from + #entries) end
  return budget > 0
end

--- Removes a job whose flow never began. What waits for it is of the same flow.
local function drop(id)
  local key = k.jobs .. id
  stop_if(refusal_of('ZREM', k.scheduled) or refusal_of('DEL', key))
  call('ZREM', members, id)
  call('ZREM', k.scheduled, id)
  call('DEL', key, key .. ':children', key .. ':parents')
end

--- Puts off what follows from the end of a job whose flow has not begun: the lists of such a job may not be whole.
local function put_off(id, flow)
  if call('EXISTS', (flow_key(flow))) == 0 then drop(id) else call('ZADD', members, '2.5', id) end
  budget = budget - 1
  return true
end

--- The flow of a job whose key was deleted by hand, if it has not begun: then those that it waits for, or that wait for it, are
--- of the same.
local function unbegun_without_key(key)
  for _, list in ipairs({ ':children', ':parents' }) do
    for _, entry in ipairs(rest_of(key .. list, 0)) do
      local id, _, fn = parse_entry(entry)
      local job = id and read({}, 'HMGET', keys_of(fn).jobs .. id, 'after', 'flow') or {}
      if is_unbegun(job[1], job[2]) then return job[2] end
    end
  end
end

--- Returns whether everything is done for this job.
local function settle(id)
  local key = k.jobs .. id
  local job = read({}, 'HMGET', key, 'status', 'flow', 'held', 'kept', 'children-done', 'parents-done', 'after')
  if job[1] == 'idle' or job[1] == 'busy' then
    call('ZADD', members, '1', id)
    return true
  end
  local unbegun = is_unbegun(job[7], job[2]) and job[2] or not job[1] and unbegun_without_key(key)
  if unbegun then return put_off(id, unbegun) end
  stop_if(refusal_of('HSET HDEL EXPIRE PERSIST DEL', key) or refusal_of('ZREM', k.scheduled))
  local is_held = count(job[3]) > 0
  -- Who has ended it may have lacked the right to, or be a plain worker.
  if is_held then call('PERSIST', key) end
  local succeeded = job[1] == 'success'
  local why = 'job ' .. id .. ' of "' .. k.fn .. '" ' .. (job[1] and 'did not succeed' or 'was deleted')
  local function tell(entry) return release(turn, entry, succeeded, why) end
  if not go_on(key, ':children', 'children-done', count(job[5]), tell) then return false end
  if not go_on(key, ':parents', 'parents-done', count(job[6]), let_go) then return false end
  if job[2] then count_end(job[2], succeeded) end
  if job[7] or not job[1] then
    -- It never came to its place: it was cancelled or deleted, or a plain client had it run.
    call('ZREM', k.scheduled, id)
    call('HDEL', key, 'after', 'place')
  end
  call('ZREM', members, id)
  if not job[1] then
    call('DEL', key, key .. ':children', key .. ':parents')
  elseif not is_held then
    let_expire(key, job[4] or nil)
  end
  budget = budget - 1
  return true
end

--- Whether a member has ended or is gone without a script of this package, as one that a plain worker has run: then it is settled.
local function note_if_ended(id, status)
  if status == 'idle' or status == 'busy' then return false end
  call('ZADD', members, '2', id)
  return true
end

--- Ends a job that has expired: its function may have no worker that would notice.
local function end_late(id, status, options, after)
  if status == 'idle' and string.find(options or '', EXPIRES, 1, true) then expire_waiting(k, id, now, after) end
end

--- Removes a job whose flow never began, as its client died. Ends one of another flow that has expired.
local function drop_orphan(id)
  local job = read({}, 'HMGET', k.jobs .. id, 'status', 'flow', 'after', 'options')
  if note_if_ended(id, job[1]) then return end
  if not is_unbegun(job[3], job[2]) then return end_late(id, job[1], job[4], job[3]) end
  if call('EXISTS', (flow_key(job[2]))) == 0 then drop(id) end
end

--- Some members of a score, in each second those behind the ones of the last, and behind the last member the first ones.
local function some_of(score, most)
  local size = call('ZCOUNT', members, score, score)
  local from = size > most and math.floor(now / 1000) * most % size or 0
  local some = call('ZRANGEBYSCORE', members, score, score, 'LIMIT', from, most)
  local rest = from > 0 and from + most - size or 0
  local first = rest > 0 and call('ZRANGEBYSCORE', members, score, score, 'LIMIT', '0', rest) or {}
  for _, id in ipairs(first) do some[#some + 1] = id end
  return some
end

--- Functions to look at because jobs of this one, or its flows, wait for theirs: without a leader they have plain workers only,
--- which report no end, or none.
local awaited = {}

--- What is left of a function without jobs are names, at which no worker looks: those of this one do then. Returns whether none is left.
local function take_names(other)
  local names = try('ZRANGEBYSCORE', keys_of(other).members, '3', '3', 'LIMIT', '0', '100')
  for i = 1, #names do
    note_function(k.fn, string.sub(names[i], 2))
    try('ZREM', keys_of(other).members, names[i])
  end
  return #names < 100
end

local function note_awaited()
  for _, noted in ipairs(some_of(3, 100)) do
    local other = string.sub(noted, 2)
    local left = try('ZCOUNT', keys_of(other).members, '-inf', '(3')
    local is_led = try('EXISTS', 'leader:' .. other) == 1
    if left == 0 then
      if is_led or take_names(other) then call('ZREM', members, noted) end
    elseif type(left) == 'number' and not is_led then
      awaited[#awaited + 1] = other
    end
  end
end

local function review()
  for _, id in ipairs(some_of(2.5, 20)) do call('ZADD', members, '2', id) end
  for _, id in ipairs(some_of(1, 300)) do
    local job = read({}, 'HMGET', k.jobs .. id, 'status', 'options')
    if not note_if_ended(id, job[1]) then end_late(id, job[1], job[2]) end
  end
  for _, id in ipairs(some_of(0, 300)) do drop_orphan(id) end
  note_awaited()
end

local problem = ''
--- Settles a job, or sets it aside. A failure of a whole server is thrown.
local function settle_or_set_aside(id)
  local is_settled, failure = pcall(settle, id)
  if is_settled then return end
  budget = budget - 1
  problem = type(failure) == 'table' and failure.err or tostring(failure)
  call('ZADD', members, '2.5', id)
end

local function run()
  if ARGV[3] == '1' then review() end
  for i = 4, #ARGV do drop_orphan(ARGV[i]) end
  while budget > 0 do
    local id = call('ZRANGEBYSCORE', members, '2', '2', 'LIMIT', '0', '1')[1]
    if not id then return end
    settle_or_set_aside(id)
  end
end

local refusal = refusal_of('ZADD', members)
if refusal then return refusal end
-- Behind a first write that needs no memory a full one refuses no other.
call('ZREM', members, '')
run()
tell_flows()
local others = {}
for fn in pairs(turn.touched) do if fn ~= k.fn then others[#others + 1] = fn end end
return { call('ZCOUNT', members, '2', '2') > 0 and 1 or 0, others, awaited, problem }
