-- Gives open_outcomes
-- include calls: call, try
-- include fields: fields
-- include finish: finish
-- include foreign: count

--- Functions that few calls need: for outcomes other than success, and for recovery. They are made when the first is
--- needed. `turn` is that of claim.lua. A `place` is the key that a claim is counted by; nil without a limit.
local function open_outcomes(turn)
  local keys, now, stamp, hooks = turn.keys, turn.now, turn.stamp, turn.hooks

  --- Puts a job back at the front of its queue, which is the end that workers pop. If that key has another type, another
  --- queue gets the job. Returns false and writes nothing if no queue can take it. A job with a place goes to the front
  --- of the list there.
  local function requeue(id, from, place, ...)
    if place and hooks.sources.take_back(place, from, id, true) then
      call('HSET', keys.jobs .. id, 'status', 'idle', ...)
      return true
    end
    local function queued(queue)
      local reply
      if queue == 'scheduled' then
        reply = try('ZADD', keys.scheduled, '0', id)
      else
        reply = try('RPUSH', keys[queue], id)
      end
      return type(reply) == 'number'
    end

    local known = from == 'high' or from == 'low' or from == 'scheduled'
    if not (queued(known and from or 'normal') or queued('normal') or queued('high') or queued('low') or queued('scheduled')) then
      return false
    end
    call('HSET', keys.jobs .. id, 'status', 'idle', ...)
    if try('EXISTS', keys.wake) == 0 then try('LPUSH', keys.wake, '1') end
    return true
  end

  --- Sorts newest first: put back at the front in this order, the oldest ends up in front.
  local function newest_first(a, b)
    return (tonumber(string.match(a, '^(%d+):')) or 0) > (tonumber(string.match(b, '^(%d+):')) or 0)
  end

  --- Gives a job that no queue can take a new lease: it stays busy until that expires, and is then recovered.
  local function keep(id, token)
    try('ZADD', keys.leases, turn.lease_end, id .. ':' .. token)
  end

  --- Whether a job has one of these signals, whose names have colons between them.
  local function has_signal(id, signals)
    for name in string.gmatch(signals, '[^:]+') do
      if fields(keys.jobs, id, 'signal:' .. name)[1] then return true end
    end
    return false
  end

  --- Schedules a job again: after a failed attempt, or without one if `failure` is ''. A job that waits for signals of which
  --- it has one already runs at once.
  local function run_later(id, token, wait, failure, place, signals)
    local job = fields(keys.jobs, id, 'attempts', 'snoozes', 'waits')
    if not job[1] then return false end
    local is_awake = has_signal(id, signals)
    local changes = { 'error:' .. job[1], failure }
    if failure == '' then
      changes = { 'attempts', math.max(0, count(job[1]) - 1), 'snoozes', count(job[2]) + 1 }
    end
    if signals ~= '' then
      changes[#changes + 1], changes[#changes + 2] = 'waits', signals
      if is_awake then wait = 0 end
    elseif job[3] then
      try('HDEL', keys.jobs .. id, 'waits')
    end
    local queued
    if place then
      queued = hooks.sources.put_off(place, id, now + wait)
    else
      queued = try('ZADD', keys.scheduled, string.format('%.3f', (now + wait) / 1000), id)
    end
    if type(queued) == 'number' then
      local time, due = failure == '' and 'due' or 'retry', string.format('%.0f', now + wait)
      call('HSET', keys.jobs .. id, 'status', 'idle', 'settled', token, time, due, unpack(changes))
      if is_awake and try('EXISTS', keys.wake) == 0 then try('LPUSH', keys.wake, '1') end
      if failure ~= '' then
        try('ZADD', 'retrying:' .. string.sub(keys.jobs, #'job:' + 1, -2), due, id)
      end
    else
      call('HSET', keys.jobs .. id, unpack(changes))
      keep(id, token)
    end
    return true
  end

  --- What becomes of a job by the verb of its outcome. Each returns whether it was accepted.
  local verbs = {}

  function verbs.retry(id, token, wait, failure, place)
    return run_later(id, token, wait, failure, place, '')
  end

  function verbs.snoozed(id, token, wait, signals, place)
    return run_later(id, token, wait, '', place, signals)
  end

  function verbs.released(id, token, _, _, place)
    local job = fields(keys.jobs, id, 'attempts', 'queue')
    if not job[1] then return false end
    local attempts = math.max(0, count(job[1]) - 1)
    if not requeue(id, job[2], place, 'attempts', attempts, 'settled', token) then keep(id, token) end
    return true
  end

  -- Of a function that has no limit any more.
  verbs.held, verbs.filed = verbs.released, verbs.released

  if hooks then hooks.outcomes(verbs, keep) end

  local function accept(id, token, verb, output, detail, place)
    if verbs[verb] then return verbs[verb](id, token, output, detail, place) end
    local attempts = fields(keys.jobs, id, 'attempts')[1] or '1'
    return finish(keys, id, stamp, '', '', verb, output, 'settled', token, 'error', detail, 'error:' .. attempts, detail)
  end

  --- Adds to the statistics of this minute and hour.
  local function note(kind)
    local key = 'statistics:' .. string.sub(keys.jobs, #'job:' + 1) .. string.format('%.0f', math.floor(now / 3600000))
    try('HINCRBY', key, string.format('%.0f', math.floor(now / 60000) % 60) .. ':' .. kind, '1')
    try('HINCRBY', key, ':' .. kind, '1')
    try('EXPIRE', key, '262800')
  end

  --- Gives back the job of a claim, or ends it. `counted`: the place of the claim, if that is not stored.
  local function recover(member, counted)
    call('ZREM', keys.leases, member)
    -- A function that shares the limit has freed its place.
    member = string.match(member, '^given%-up:(.*)$') or member
    local id, token = string.match(member, '^(.*):(%d+)$')
    if not id then return end
    local job = fields(keys.jobs, id, 'status', 'token', 'queue', 'stalls', 'key', 'isolated', 'attempts')
    local place = hooks and (hooks.places({ member })(1) or counted or job[5]) or nil
    if job[1] ~= 'busy' or job[2] ~= token then return place and hooks.ended(place, member) end
    local stalls = count(job[4]) + 1
    local field, value = 'stalls', stalls
    if job[6] == token .. ':0' then
      -- It only waited to run alone: no handler has run, so this is neither a stall nor an attempt.
      stalls = stalls - 1
      field, value = 'attempts', math.max(0, count(job[7]) - 1)
    end
    note('stalled')
    if stalls <= turn.max_stalls then
      -- `lost` makes this token invalid even if a plain worker, which writes no token, takes the job next.
      if not requeue(id, job[3], place, field, value, 'lost', token) then keep(id, token) end
    else
      local text = 'stalled: the worker died or lost its lease ' .. stalls .. ' times'
      if job[6] == token .. ':1' then text = text .. ', the last time while it ran alone' end
      local failure = cjson.encode({ name = 'JobStalledError', code = 'JOB_STALLED', message = text })
      finish(keys, id, stamp, '', '', 'error', text, 'stalls', stalls, 'error', failure)
      note('failed')
    end
    if place then hooks.ended(place, member) end
  end

  --- Gives back jobs whose leases have ended by then.
  local function recover_expired(ended)
    local expired = call('ZRANGEBYSCORE', keys.leases, '-inf', string.format('%.0f', ended), 'LIMIT', '0', '100')
    table.sort(expired, newest_first)
    turn.has_leases = true
    for _, member in ipairs(expired) do recover(member) end
    if hooks then hooks.sources.review(recover) end
  end

  return { accept = accept, recover_expired = recover_expired }
end
