-- Gives add_turns
-- include calls: call, try
-- include look-again: look_again_at
-- include recovery: recoverable_until

--- Adds what a claim needs of a limit: claims that give each key its turn, and moving what is due. `limits.keys` has also
--- control and scheduled.
local function add_turns(limits)
  local keys, now = limits.keys, limits.now
  --- How many turns one call gives.
  local MAX_VISITS = 1000
  --- How many places and holders a recovery looks at, though it has no reason to.
  local FEW = 5
  local RETRY_MS = limits.RETRY_MS

  --- Keys that were set aside for this function and of which it has started jobs: others may be waiting for them.
  local passed = {}

  --- Counts a job that starts.
  local function occupy(key, id, member)
    call('HSET', keys.limits .. 'places', member, key)
    call('SADD', limits.space .. 'running:' .. key, limits.mark .. member)
    if limits.strict then call('HSET', keys.limits .. 'holders', key, id) end
    if limits.shared and limits.use_turn(key) then passed[#passed + 1] = key end
    if not limits.max then return end
    local starts = limits.space .. 'starts:' .. key
    if call('RPUSH', starts, string.format('%.0f', now)) > limits.max then call('LTRIM', starts, -limits.max, -1) end
    call('PEXPIRE', starts, limits.per + 1000)
  end

  --- Claims whose leases are gone, as after a deletion by hand.
  local function lost_claims(leases)
    local count = call('HLEN', keys.limits .. 'places')
    if count == 0 then return {} end
    local lost, asked = {}, count > call('ZCARD', leases) and limits.MAX_MOVES or FEW
    for _, member in ipairs(call('HRANDFIELD', keys.limits .. 'places', asked)) do
      if not call('ZSCORE', leases, member) then lost[#lost + 1] = member end
    end
    return lost
  end

  --- Puts the job of a strict key that holds it, but waits nowhere, to its front; lets the key go if there is no such job.
  local function review_holders(leases)
    local holders = limits.strict and call('HRANDFIELD', keys.limits .. 'holders', FEW, 'WITHVALUES') or {}
    for i = 1, #holders, 2 do
      local key, id = holders[i], holders[i + 1]
      local job = try('HMGET', keys.jobs .. id, 'status', 'queue', 'token')
      local first, from = limits.next_job(key)
      if job.err or (job[1] ~= 'idle' and job[1] ~= 'busy') then
        limits.let_go(key, id)
        limits.refresh(key)
      elseif job[1] == 'idle' and first ~= id and not call('ZSCORE', keys.limits .. 'due', limits.entry_of(key, id))
        and not call('ZSCORE', keys.scheduled, id) then
        for _, priority in ipairs(limits.PRIORITIES) do call('LREM', limits.list_of(key, priority), 0, id) end
        limits.await_turn(key, limits.priority_of(job[2]), id, true)
      elseif job[1] == 'busy' and not call('ZSCORE', leases, id .. ':' .. (job[3] or '')) then
        return id .. ':' .. (job[3] or '')
      end
    end
  end

  --- Looks again at keys that are set aside for longer than any rate does: the clock was set back.
  local function review_times()
    if not limits.latest then return end
    local from = string.format('(%.0f', now + limits.latest)
    for _, key in ipairs(call('ZRANGEBYSCORE', limits.space .. 'parked', from, '(+inf', 'LIMIT', '0', limits.MAX_MOVES)) do
      limits.refresh(key)
    end
  end

  --- Looks again at some of the keys that are set aside until a job ends: what would let them take turns again may have been
  --- deleted. Returns claims that still count for them, though their lease is gone, each with its key.
  local function review_parked(leases)
    local lost, from = {}, #limits.mark + 1
    local function review(key)
      for _, marked in ipairs(call('SRANDMEMBER', limits.space .. 'running:' .. key, FEW)) do
        local member = string.sub(marked, from)
        local is_own = limits.mark .. member == marked
        if is_own and not call('ZSCORE', leases, member) then lost[#lost + 1] = { member, key } end
      end
      limits.refresh(key)
    end
    for _, parked in ipairs(limits.shared and { limits.space .. 'parked', keys.limits .. 'parked' } or { keys.limits .. 'parked' }) do
      local count = call('ZCARD', parked)
      -- The time chooses: others than in the last call.
      local first = count > 0 and now % count
      local entries = first and call('ZRANGE', parked, first, first + FEW - 1, 'WITHSCORES') or {}
      for i = 1, #entries, 2 do
        if entries[i + 1] == 'inf' then pcall(review, entries[i]) end
      end
    end
    return lost
  end

  --- Goes on with a change of the limit whose caller may be gone.
  local function go_on()
    local looks = call('HGET', keys.control, 'looks')
    if looks then look_again_at(looks, keys.control, keys.limits, keys.wake, limits.space) end
  end

  --- Whether keys are set aside until a job ends, though none runs or waits for a time. `runs`: whether there are leases.
  local function is_stuck(runs)
    if runs or limits.shared or call('EXISTS', keys.limits .. 'due', keys.scheduled) > 0 then return false end
    return call('ZRANGEBYSCORE', keys.limits .. 'parked', '+inf', '+inf', 'LIMIT', '0', '1')[1] ~= nil
  end

  --- Calls `act` for running jobs of other functions that share the limit, with their lease.
  local function each_other(key, act)
    for _, marked in ipairs(call('SRANDMEMBER', limits.space .. 'running:' .. key, limits.MAX_MOVES)) do
      local fn, member = string.match(marked, '^limit:(.*):(%d+:%d+)$')
      local is_other = fn and string.sub(marked, 1, #limits.mark) ~= limits.mark
      -- Without a right to these leases, such a job counts until a worker of its function has recovered it.
      local ends = is_other and try('ZSCORE', 'lease:' .. fn, member)
      if type(ends) == 'string' then act(tonumber(ends), fn, member, marked) end
    end
  end

  --- When a running job of another function may lose its lease: no worker may be left that would recover it.
  local function first_end(key)
    local first = limits.NEVER
    -- One that has ended may get time to be renewed.
    each_other(key, function(ends) first = math.min(first, ends > now and ends or now + RETRY_MS) end)
    return first
  end

  --- Frees the places of other functions' jobs whose leases have ended. Their workers can't renew them any more.
  local function free_others(key)
    local recoverable = {}
    each_other(key, function(ends, fn, member, marked)
      if ends > now then return end
      if recoverable[fn] == nil then recoverable[fn] = recoverable_until(fn, now, nil, 0) or 0 end
      if ends > recoverable[fn] then return end
      local leases = 'lease:' .. fn
      local noted = try('ZADD', leases, '0', 'given-up:' .. member)
      if type(noted) ~= 'number' then return end
      call('ZREM', leases, member)
      call('SREM', limits.space .. 'running:' .. key, marked)
    end)
  end

  --- Moves a due job into the list of its key. Returns false for one that has run before, unless it is `in_front`.
  local function end_wait(key, id, in_front)
    local job = try('HMGET', keys.jobs .. id, 'status', 'queue', 'token')
    if not job.err and job[3] and not in_front then return false end
    call('SREM', keys.limits .. 'later:' .. key, id)
    if not job.err and job[1] == 'idle' and limits.await_turn(key, limits.priority_of(job[2]), id, in_front) then return true end
    if job[1] ~= 'busy' then limits.let_go(key, id) end
    limits.refresh(key)
    return true
  end

  --- Ms until `move_due` has something to do; nil if nothing is known to come.
  local function next_time()
    if limits.was_left then return 0 end
    local first
    for _, key in ipairs({ keys.limits .. 'due', limits.space .. 'parked' }) do
      local entry = try('ZRANGEBYSCORE', key, '-inf', '(+inf', 'WITHSCORES', 'LIMIT', '0', '1')
      if not entry.err and entry[2] then first = math.min(first or limits.NEVER, math.max(0, math.ceil(entry[2] - now))) end
    end
    return first
  end

  --- What `next_time` was when this call began.
  local first_time

  --- Moves due jobs into the lists of their keys, and lets keys whose time has come take turns again.
  local function move_due()
    first_time = next_time()
    if first_time ~= 0 then return end
    local stamp, later = string.format('%.0f', now), string.format('%.0f', now + RETRY_MS)
    local last = limits.was_left and later or stamp
    local parked = call('ZRANGEBYSCORE', limits.space .. 'parked', '-inf', last, 'LIMIT', '0', limits.MAX_MOVES)
    if limits.was_left and #parked < limits.MAX_MOVES then call('HDEL', limits.space .. 'rules', 'left:' .. keys.limits) end
    limits.was_left = nil
    for _, key in ipairs(parked) do
      if limits.shared then pcall(free_others, key) end
      if not pcall(limits.refresh, key) then call('ZADD', limits.space .. 'parked', later, key) end
    end
    local again = {}
    for _, entry in ipairs(call('ZRANGEBYSCORE', keys.limits .. 'due', '-inf', stamp, 'LIMIT', '0', limits.MAX_MOVES)) do
      call('ZREM', keys.limits .. 'due', entry)
      local id, key = limits.split_entry(entry)
      local is_whole, has_ended = pcall(end_wait, key, id)
      if id and not is_whole then
        call('ZADD', keys.limits .. 'due', later, entry)
      elseif id and not has_ended then
        again[#again + 1] = { key, id, entry }
      end
    end
    -- The one that was due first ends up in front.
    for i = #again, 1, -1 do
      if not pcall(end_wait, again[i][1], again[i][2], true) then call('ZADD', keys.limits .. 'due', later, again[i][3]) end
    end
  end

  --- Gives a key its turn.
  local function take_turn(turn, priority, key, take)
    local ring, _, from = keys.limits .. 'ready:' .. priority, limits.next_job(key)
    local own, list = limits.list_of(key, priority), limits.list_of(key, from or priority)
    local id = call('RPOP', list)
    local is_whole, time, alone = true, nil, nil
    if id then is_whole, time, alone = pcall(limits.blocked, key, id, true) end
    if not is_whole then time, alone = now + RETRY_MS, nil end
    if time then
      call('RPUSH', list, id)
      return limits.park(key, time, alone)
    end
    local member = id and take(turn, id, from or priority, true)
    if member then occupy(key, id, member) elseif id then limits.let_go_if_ended(key, id) end
    if limits.shared and not member then limits.pass_turn(key) end
    -- A job that could not be run, such as an expired one, was no turn.
    if call('EXISTS', own) == 0 then
      call('ZREM', ring, key)
    elseif member then
      limits.join(keys.limits, key, priority, true)
    end
  end

  --- Claims jobs of keys that are not full, one of each in turn. `take` claims a job and returns its
  --- member; `turn` is that of claim.lua.
  local function take_turns(turn, priority, has_room, take)
    local ring, visits = keys.limits .. 'ready:' .. priority, 0
    while has_room() do
      local key = call('ZRANGE', ring, '0', '0')[1]
      if not key then return end
      visits = visits + 1
      limits.is_over = limits.is_over or visits > MAX_VISITS
      if limits.is_over then return end
      if not pcall(take_turn, turn, priority, key, take) then
        pcall(limits.park, key, now + RETRY_MS)
        call('ZREM', ring, key)
      end
    end
  end

  --- Lets other functions look again at keys that were set aside for this one.
  local function pass_on()
    for _, key in ipairs(passed) do limits.refresh(key) end
  end

  --- As `next_time`, after `move_due`, which has read it unless something was due.
  local function time_left()
    if first_time == 0 then return next_time() end
    local soonest = limits.soonest and math.max(0, math.ceil(limits.soonest - now))
    return first_time and soonest and math.min(first_time, soonest) or first_time or soonest
  end

  if limits.shared then limits.first_end = first_end end
  limits.lost_claims, limits.review_holders, limits.review_times = lost_claims, review_holders, review_times
  limits.review_parked, limits.is_stuck, limits.go_on = review_parked, is_stuck, go_on
  limits.move_due, limits.take_turns = move_due, take_turns
  limits.pass_on = pass_on
  limits.next_time, limits.time_left = next_time, time_left
end
