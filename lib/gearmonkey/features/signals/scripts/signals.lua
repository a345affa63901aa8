-- Gives give_signal, signal_refusal
-- include calls: call, try
-- include control-key: control_of
-- include limits: open_limits
-- include refusals: refusal_of
-- include unbegun: is_unbegun

--- Returns an error reply if the user may not give signals to jobs of this function. `is_limited`: jobs with a key.
local function signal_refusal(keys, is_limited)
  local refusal = refusal_of('HMGET HSET', keys.jobs .. 'x') or refusal_of('ZADD', keys.scheduled)
  if refusal or not is_limited then return refusal end
  return refusal_of('ZREM ZADD', keys.limits .. 'due') or refusal_of('SREM SADD', keys.limits .. 'later:x')
end

--- Gives a job a signal. The first one with a name counts: a later one changes nothing. A job that waits for it is due now.
--- `keys` has jobs, scheduled, wake and limits; by `token`, or nil, a call is recognized that is sent again. Returns signalled,
--- known, finished, missing or lost, or an error reply: then nothing was written.
local function give_signal(keys, now, id, mark, name, data, token)
  local key = keys.jobs .. id
  local job = try('HMGET', key, 'status', 'mark', 'waits', 'key', 'signal:' .. name, 'after', 'flow', 'signalled:' .. name)
  if job.err and not string.find(job.err, '^WRONGTYPE') then return job end
  if job.err or not job[1] or is_unbegun(job[6], job[7]) then return 'missing' end
  if mark ~= '' and (job[2] or '0') ~= mark then return 'lost' end
  if token and job[8] == token then return 'signalled' end
  if job[1] == 'success' or job[1] == 'error' then return 'finished' end
  if job[5] then return 'known' end
  local limits = job[4] and open_limits(keys, now, unpack(call('HMGET', control_of(keys.jobs), 'limit', 'override')))
  local refusal = signal_refusal(keys, limits)
  if refusal then return refusal end
  local stamp, waits = string.format('%.0f', now), ':' .. (job[3] or '') .. ':'
  local fields = { 'signal:' .. name, stamp .. ':' .. data }
  if token then fields[3], fields[4] = 'signalled:' .. name, token end
  call('HSET', key, unpack(fields))
  if job[1] ~= 'idle' or not string.find(waits, ':' .. name .. ':', 1, true) then return 'signalled' end
  call('HSET', key, 'due', stamp)
  if limits and limits.forget_time(job[4], id) == 1 then
    limits.await_time(job[4], id, now)
  else
    try('ZADD', keys.scheduled, 'XX', string.format('%.3f', now / 1000), id)
  end
  if try('EXISTS', keys.wake) == 0 then try('LPUSH', keys.wake, '1') end
  return 'signalled'
end
