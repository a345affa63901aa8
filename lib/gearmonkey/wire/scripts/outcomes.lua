--- Functions that few calls need: for outcomes other than success, and for recovery. They are made when the first is
--- needed. They use `keys`, `limits`, `now`, `stamp`, `expiry` and `fields` of the script. `key` is the one that a job is
--- limited by, or nil.
local function open_outcomes()
  --- Puts a job back at the front of its queue, which is the end that workers pop. If that key has another type, another
  --- queue gets the job. Returns false and writes nothing if no queue can take it. A job with a `key` of `limits` goes to
  --- the front of that key's list.
  local function requeue(keys, id, from, limits, key, ...)
    local is_whole, waits
    if key then is_whole, waits = guarded(limits.await_turn, key, limits.priority_of(from), id, true) end
    if is_whole and waits then
      redis.call('HSET', keys.jobs .. id, 'status', 'idle', ...)
      return true
    end
    local function queued(queue)
      local reply
      if queue == 'scheduled' then
        reply = redis.pcall('ZADD', keys.scheduled, '0', id)
      else
        reply = redis.pcall('RPUSH', keys[queue], id)
      end
      return type(reply) == 'number'
    end

    local known = from == 'high' or from == 'low' or from == 'scheduled'
    if not (queued(known and from or 'normal') or queued('normal') or queued('high') or queued('low') or queued('scheduled')) then
      return false
    end
    redis.call('HSET', keys.jobs .. id, 'status', 'idle', ...)
    if redis.call('EXISTS', keys.wake) == 0 then redis.call('LPUSH', keys.wake, '1') end
    return true
  end

  --- Sorts newest first: put back at the front in this order, the oldest ends up in front.
  local function newest_first(a, b)
    return (tonumber(string.match(a, '^(%d+):')) or 0) > (tonumber(string.match(b, '^(%d+):')) or 0)
  end

  --- Gives a job that no queue can take a new lease: it stays busy until that expires, and is then recovered.
  local function keep(id, token)
    pcall('ZADD', keys.leases, expiry, id .. ':' .. token)
  end

  --- Whether a job has one of these signals, whose names have colons between them.
  local function has_signal(id, signals)
    for name in string.gmatch(signals, '[^:]+') do
      if fields(id, 'signal:' .. name)[1] then return true end
    end
    return false
  end

  --- Schedules a job again: after a failed attempt, or without one if `failure` is ''. A job that waits for signals of which
  --- it has one already runs at once.
  local function run_later(id, token, wait, failure, key, signals)
    local job = fields(id, 'attempts', 'snoozes', 'waits')
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
      call('HDEL', keys.jobs .. id, 'waits')
    end
    local queued
    if key then
      queued = limits.await_time(key, id, now + wait)
    else
      queued = pcall('ZADD', keys.scheduled, string.format('%.3f', (now + wait) / 1000), id)
    end
    if type(queued) == 'number' then
      local time, due = failure == '' and 'due' or 'retry', string.format('%.0f', now + wait)
      call('HSET', keys.jobs .. id, 'status', 'idle', 'settled', token, time, due, unpack(changes))
      if is_awake and call('EXISTS', keys.wake) == 0 then call('LPUSH', keys.wake, '1') end
      if failure ~= '' then
        pcall('ZADD', 'retrying:' .. string.sub(keys.jobs, #'job:' + 1, -2), due, id)
      end
    else
      call('HSET', keys.jobs .. id, unpack(changes))
      keep(id, token)
    end
    return true
  end

  local function release(id, token, key)
    local job = fields(id, 'attempts', 'queue')
    if not job[1] then return false end
    local attempts = math.max(0, count(job[1]) - 1)
    if not requeue(keys, id, job[2], limits, key, 'attempts', attempts, 'settled', token) then keep(id, token) end
    return true
  end

  --- Files a job that was enqueued without a key, behind the others of the key that its worker has found out.
  local function file(id, token, key)
    local job = fields(id, 'attempts', 'queue')
    if not job[1] or not limits then return release(id, token) end
    call('HSET', keys.jobs .. id, 'status', 'idle', 'key', key, 'attempts', math.max(0, count(job[1]) - 1), 'settled', token)
    local is_whole, waits = guarded(limits.await_turn, key, limits.priority_of(job[2]), id, false)
    if not (is_whole and waits) then keep(id, token) end
    return true
  end

  --- Gives a job back, and lets no other job of its key start for `wait` ms.
  local function hold(id, token, wait, key)
    if key and tonumber(wait) > 0 then
      pcall('ZADD', limits.space .. 'holds', 'GT', string.format('%.0f', now + wait), key)
      guarded(limits.park, key, now + wait)
    end
    return release(id, token, key)
  end

  local function accept(id, token, status, output, detail, key)
    if status == 'retry' then return run_later(id, token, output, detail, key, '') end
    if status == 'snoozed' then return run_later(id, token, output, '', key, detail) end
    if status == 'released' then return release(id, token, key) end
    if status == 'held' then return hold(id, token, output, key) end
    if status == 'filed' then return file(id, token, output) end
    local attempts = fields(id, 'attempts')[1] or '1'
    return finish(keys, id, stamp, '', '', status, output, 'settled', token, 'error', detail, 'error:' .. attempts, detail)
  end

  --- Adds to the statistics of this minute and hour.
  local function note(kind)
    local key = 'statistics:' .. string.sub(keys.jobs, #'job:' + 1) .. string.format('%.0f', math.floor(now / 3600000))
    pcall('HINCRBY', key, string.format('%.0f', math.floor(now / 60000) % 60) .. ':' .. kind, '1')
    pcall('HINCRBY', key, ':' .. kind, '1')
    pcall('EXPIRE', key, '262800')
  end

  --- The key whose place a claim has; nil if that was lost.
  local function place_of(member)
    local places = pcall('HMGET', keys.limits .. 'places', member)
    return not places.err and places[1] or nil
  end

  --- Gives back the job of a claim, or ends it. `counted`: the key that counts the claim, if its place is not known.
  local function recover(member, counted)
    call('ZREM', keys.leases, member)
    -- A function that shares the limit has freed its place.
    member = string.match(member, '^given%-up:(.*)$') or member
    local id, token = string.match(member, '^(.*):(%d+)$')
    if not id then return end
    local job = fields(id, 'status', 'token', 'queue', 'stalls', 'key', 'isolated')
    local place = limits and place_of(member) or counted or limits and job[5] or nil
    if job[1] ~= 'busy' or job[2] ~= token then return place and guarded(limits.vacate, place, member) end
    local stalls = count(job[4]) + (job[6] == token .. ':0' and 0 or 1)
    note('stalled')
    if stalls <= max_stalls then
      -- `lost` makes this token invalid even if a plain worker, which writes no token, takes the job next.
      if not requeue(keys, id, job[3], limits, place, 'stalls', stalls, 'lost', token) then keep(id, token) end
    else
      local text = 'stalled: the worker died or lost its lease ' .. stalls .. ' times'
      if job[6] == token .. ':1' then text = text .. ', the last time while it ran alone' end
      local failure = cjson.encode({ name = 'JobStalledError', code = 'JOB_STALLED', message = text })
      finish(keys, id, stamp, '', '', 'error', text, 'stalls', stalls, 'error', failure)
      note('failed')
    end
    if place then guarded(limits.vacate, place, member) end
  end

  --- Gives back jobs whose leases have ended.
  local function recover_expired()
    local expired = call('ZRANGEBYSCORE', keys.leases, '-inf', stamp, 'LIMIT', '0', '100')
    table.sort(expired, newest_first)
    has_leases = true
    for _, member in ipairs(expired) do recover(member) end
    if not limits then return end
    local is_whole, lost = guarded(limits.lost_claims, keys.leases)
    for _, member in ipairs(is_whole and lost or {}) do recover(member) end
    local is_known, member = guarded(limits.review_holders, keys.leases)
    if is_known and member then recover(member) end
    guarded(limits.review_times)
    guarded(limits.go_on)
    local is_read, counted = guarded(limits.review_parked, keys.leases)
    for _, claim in ipairs(is_read and counted or {}) do recover(claim[1], claim[2]) end
  end

  return { accept = accept, recover_expired = recover_expired }
end
