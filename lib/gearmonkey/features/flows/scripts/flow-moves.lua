--- What happens to jobs that wait for others.
-- Gives flow_turn, stop_if, move_refusal, activate, is_cancelled, cancel_with_flow, fail_with_parent, release
-- include calls: call, try
-- include finish: finish
-- include flow-keys: keys_of, parse_entry
-- include refusals: refusal_of
-- include unbegun: flow_key
-- include with-expiry: with_expiry

--- What a call knows of the flows that it moves: its time; functions of which jobs of flows have ended in it; whether flows
--- were cancelled, for each that was read.
local function flow_turn(now)
  return { now = now, touched = {}, cancelled = {} }
end

--- Stops what is done for a job with an error reply, unless that is nil.
local function stop_if(refusal)
  if refusal then error(refusal.err, 0) end
end

local function text_of(number) return string.format('%.0f', number) end

--- The list in which a job waits with this place.
local function list_of(k, place)
  local queue = string.match(place or '', '^%l+')
  return (queue == 'high' or queue == 'low') and k[queue] or k.normal
end

--- Returns an error reply if the user may not do what lets a job run that waits, or ends it. `place` is that of the job.
local function move_refusal(k, id, place)
  local key, list, ended = k.jobs .. id, list_of(k, place), 'ended:' .. k.fn .. ':'
  return refusal_of('HSET HDEL HINCRBY EXPIRE PERSIST', key) or refusal_of('LPUSH', list)
    or refusal_of('ZADD ZREM', k.scheduled) or refusal_of('ZADD', k.members)
    or refusal_of('ZADD EXPIRE', ended .. 'failed') or refusal_of('ZADD EXPIRE', ended .. 'cancelled')
end

--- Lets a job run: its parents have ended. Its field `place` is "QUEUE:TIME:EXPIRES": TIME is '', ms since 1970, or a span of
--- ms after a '+'; EXPIRES is '' or a span.
local function activate(turn, k, id, place, options)
  local key, now = k.jobs .. id, turn.now
  local queue, time, expires = string.match(place or '', '^(%l+):(%+?%d*):(%d*)$')
  local due = now
  if time and time ~= '' then due = string.sub(time, 1, 1) == '+' and now + string.sub(time, 2) or tonumber(time) end
  call('HDEL', key, 'after', 'place')
  call('HSET', key, 'due', text_of(due))
  if expires and expires ~= '' then
    call('HSET', key, 'options', with_expiry(options, due + expires))
  end
  if queue ~= 'scheduled' and type(try('LPUSH', list_of(k, place), id)) == 'number' then
    try('ZREM', k.scheduled, id)
  else
    -- Also where the list's key has another type.
    try('ZADD', k.scheduled, string.format('%.3f', due / 1000), id)
  end
  try('ZADD', k.members, '1', id)
  try('PUBLISH', k.channel, 'create:' .. id)
  if try('EXISTS', k.wake) == 0 then try('LPUSH', k.wake, '1') end
end

--- Ends a job that waits for others: `outcome` is error or cancelled.
local function end_waiting(turn, k, id, outcome, name, code, message)
  try('ZREM', k.scheduled, id)
  call('HDEL', k.jobs .. id, 'after', 'place')
  k.has_flows = true
  local failure = cjson.encode({ name = name, code = code, message = message })
  finish(k, id, text_of(turn.now), '', '', outcome, message, 'error', failure)
  turn.touched[k.fn] = true
end

local function is_cancelled(turn, flow)
  if not flow then return false end
  if turn.cancelled[flow] == nil then
    local key = flow_key(flow)
    local state = key and try('HMGET', key, 'cancelled') or {}
    turn.cancelled[flow] = not state.err and state[1] == '1'
  end
  return turn.cancelled[flow]
end

--- Ends a job that waits, and whose flow was cancelled.
local function cancel_with_flow(turn, k, id)
  end_waiting(turn, k, id, 'cancelled', 'JobCancelledError', 'JOB_CANCELLED', 'cancelled with its flow')
end

--- Ends a job one of whose parents has not succeeded.
local function fail_with_parent(turn, k, id, policy, why)
  local message = why .. ', and this job waited for it'
  end_waiting(turn, k, id, policy == 'cancel' and 'cancelled' or 'error', 'ParentFailedError', 'PARENT_FAILED', message)
end

--- Tells a job that one of its parents has ended. `why` says how, for an error. Fails, and writes nothing, for a user who may
--- not write all that can follow.
local function release(turn, entry, succeeded, why)
  local id, mark, fn = parse_entry(entry)
  if not id then return end
  local k = keys_of(fn)
  local job = try('HMGET', k.jobs .. id, 'status', 'mark', 'after', 'on-parent-error', 'place', 'options', 'flow')
  if job.err then
    if not string.find(job.err, '^WRONGTYPE') then error(job.err, 0) end
    return
  end
  if job[1] ~= 'idle' or not job[3] or (job[2] or '0') ~= mark then return end
  stop_if(move_refusal(k, id, job[5]))
  if is_cancelled(turn, job[7]) then
    cancel_with_flow(turn, k, id)
  elseif not succeeded and job[4] ~= 'run' then
    fail_with_parent(turn, k, id, job[4], why)
  elseif call('HINCRBY', k.jobs .. id, 'after', '-1') <= 0 then
    activate(turn, k, id, job[5], job[6])
  end
end
