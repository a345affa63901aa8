--- Limits by key: which jobs of a function may run when. docs/understand/protocol/limits.md has the keys.
-- Gives open_limits
-- include calls: call, try
-- include limit-shares: add_shares

--- Opens the limit of a function, from the rules that are stored; nil if they have another form. All functions are made here: for
--- functions without a limit they cost nothing. `keys` has jobs, limits and wake, and those that a script names besides.
local function open_limits(keys, now, rules, override)
  --- The numbers of rules; nil if they have another form. Those that no limit can have count as absent.
  local function numbers_of(text)
    local concurrency, max, per = string.match(text or '', '^(%d*):(%d*):(%d*)')
    if not concurrency then return nil end
    local function within(number, most)
      number = tonumber(number)
      return number and number >= 1 and number <= most and number or nil
    end
    max, per = within(max, 100000), within(per, 2 ^ 43)
    if not (max and per) then max, per = nil, nil end
    return { within(concurrency, 2 ^ 53), max, per }
  end

  local numbers, order, shared = string.match(rules or ':::fair:', '^(%d*:%d*:%d*):(%a+):(.*)$')
  if not numbers then return nil end
  local limits = { keys = keys, now = now, space = keys.limits, strict = order == 'strict', mark = '' }
  if shared ~= '' then
    limits.space, limits.shared, limits.mark = 'shared-limit:' .. shared .. ':', true, keys.limits
    local stored = try('HMGET', limits.space .. 'rules', 'limit', 'override', 'left:' .. keys.limits)
    numbers, override, limits.was_left = stored[1] or '::', stored[2], stored[3]
  end
  local found = numbers_of(override) or numbers_of(numbers) or {}
  limits.concurrency, limits.max, limits.per = found[1], found[2], found[3]

  local PRIORITIES, NEVER = { 'high', 'normal', 'low' }, math.huge
  limits.PRIORITIES, limits.NEVER = PRIORITIES, NEVER
  if limits.shared then add_shares(limits) end
  --- How many keys and due jobs one call moves: more would block the server.
  local MAX_MOVES = 100
  --- When to look again at a key of a limit whose data can't be read or written, as when another program has written there.
  limits.RETRY_MS = 1000
  --- How far starts may be in the future, in ms: another server may have become the master.
  local MAX_SKEW = 1000

  local function score_of(time)
    return time == NEVER and '+inf' or string.format('%.0f', time)
  end

  local function list_of(key, priority)
    return keys.limits .. 'wait:' .. priority .. ':' .. key
  end

  --- The priority of a job from the queue that its hash names.
  local function priority_of(queue)
    return (queue == 'high' or queue == 'low') and queue or 'normal'
  end

  --- Whether another job than `id` holds this strict key.
  local function is_held(key, id)
    local holder = limits.strict and call('HGET', keys.limits .. 'holders', key)
    return holder and holder ~= id
  end

  --- When a job of this key may start, in ms: nil for now, NEVER until another job ends. `has_turn`: the key takes turns,
  --- which no held one does unless other functions share the limit.
  local function full(key, has_turn)
    if limits.concurrency and call('SCARD', limits.space .. 'running:' .. key) >= limits.concurrency then return NEVER end
    local time = 0
    if limits.shared or not has_turn then time = tonumber(call('ZSCORE', limits.space .. 'holds', key) or 0) end
    if limits.shared then time = math.max(time, limits.set_aside(key)) end
    if limits.max then
      local start = call('LINDEX', limits.space .. 'starts:' .. key, -limits.max)
      -- The clock was set back: what started then doesn't count.
      if start and start - now <= MAX_SKEW then time = math.max(time, start + limits.per + 1) end
    end
    return time > now and time or nil
  end

  --- As `full`, for the job `id`. Also returns whether the key is full for this function alone, of those that share the limit.
  local function blocked(key, id, has_turn)
    if is_held(key, id) then return NEVER, limits.shared end
    return full(key, has_turn)
  end

  --- Gives a key its turn after all others of the priority; one that has a turn keeps it, unless it was `served`.
  local function join(prefix, key, priority, served)
    local ring = prefix .. 'ready:' .. priority
    local last = call('ZREVRANGE', ring, 0, 0, 'WITHSCORES')
    if last[1] == key then return end
    local turn = string.format('%.0f', (last[2] or 0) + 1)
    if served then call('ZADD', ring, turn, key) else call('ZADD', ring, 'NX', turn, key) end
  end

  --- Notes when to look again at a key that is set aside.
  local function look_again(key, time)
    if time == NEVER and limits.first_end then time = limits.first_end(key) end
    call('ZADD', limits.space .. 'parked', score_of(time), key)
    if time < NEVER then limits.soonest = math.min(limits.soonest or time, time) end
  end

  --- Sets aside a key that may not start jobs, so that no claim looks at it until then. `alone`: only in this function.
  local function park(key, time, alone)
    for _, priority in ipairs(PRIORITIES) do call('ZREM', keys.limits .. 'ready:' .. priority, key) end
    if alone then return call('ZADD', keys.limits .. 'parked', '+inf', key) end
    look_again(key, time)
    if not limits.shared then return end
    call('SADD', limits.space .. 'users:' .. key, keys.limits .. '\n' .. keys.wake)
    limits.line_up(key)
  end

  --- Gives a key its turn in the lists in which a function has jobs of it. Returns whether there are any.
  local function join_all(prefix, key)
    local joins = false
    for _, priority in ipairs(PRIORITIES) do
      if call('EXISTS', prefix .. 'wait:' .. priority .. ':' .. key) == 1 then
        join(prefix, key, priority)
        joins = true
      end
    end
    limits.freed = limits.freed or joins
    return joins
  end

  --- Lets a key take turns again, in each function that has jobs of it. For those to whose keys this user has no right it stays
  --- set aside for a moment: `left` has them look by themselves.
  local function unpark(key)
    call('ZREM', limits.space .. 'holds', key)
    local members = limits.space .. 'users:' .. key
    local users = limits.shared and call('SMEMBERS', members) or { keys.limits .. '\n' .. keys.wake }
    local joined, left = {}, {}
    for _, user in ipairs(users) do
      local prefix, wake = string.match(user, '^(.*)\n(.*)$')
      local is_whole, joins = pcall(join_all, prefix, key)
      local done = is_whole and joined or left
      done[#done + 1] = user
      if limits.shared and not is_whole then try('HSET', limits.space .. 'rules', 'left:' .. prefix, '1') end
      if joins ~= false and prefix ~= keys.limits and try('EXISTS', wake) == 0 then try('LPUSH', wake, '1') end
    end
    if #left > 0 then
      if joined[1] and limits.shared then call('SREM', members, unpack(joined)) end
      return look_again(key, now + limits.RETRY_MS)
    end
    call('ZREM', limits.space .. 'parked', key)
    if limits.shared then call('DEL', members) end
  end

  --- The next job of a strict key, and its priority: first the one that has begun, whichever list it is in the front of.
  --- Others are not asked for it.
  local function next_job(key)
    if not limits.strict then return nil end
    local holder, first, from = call('HGET', keys.limits .. 'holders', key)
    for _, priority in ipairs(PRIORITIES) do
      local id = call('LINDEX', list_of(key, priority), -1)
      if id and id == holder then return id, priority end
      if id and not first then first, from = id, priority end
    end
    return first, from
  end

  --- Looks again at a key that is set aside.
  local function refresh(key)
    if limits.shared and call('ZSCORE', keys.limits .. 'parked', key) and not is_held(key, (next_job(key))) then
      call('ZREM', keys.limits .. 'parked', key)
      join_all(keys.limits, key)
    end
    local parked = call('ZSCORE', limits.space .. 'parked', key)
    if parked then
      local time = limits.shared and full(key) or not limits.shared and blocked(key, (next_job(key)))
      if time then return look_again(key, time) end
      unpark(key)
    end
    if limits.shared then limits.pass_turn(key) end
  end

  --- Lets a job of a strict key go: others of the key may start. Returns true if it held it.
  local function let_go(key, id)
    if call('HGET', keys.limits .. 'holders', key) == id then
      return call('HDEL', keys.limits .. 'holders', key) == 1
    end
  end

  --- Lets a job of a strict key go if it has ended or is gone. One that runs may stand in a list as well.
  local function let_go_if_ended(key, id)
    local status = call('HGET', keys.limits .. 'holders', key) == id and (try('HGET', keys.jobs .. id, 'status') or '')
    if status and status ~= 'idle' and status ~= 'busy' then let_go(key, id) end
  end

  --- Makes a job wait for its key's turn, in front of the others or behind them. Returns false if a key has another type.
  local function await_turn(key, priority, id, in_front)
    local list = list_of(key, priority)
    local holder = in_front and limits.strict and try('HGET', keys.limits .. 'holders', key)
    if type(holder) == 'table' then holder = nil end
    local queued = try(in_front and 'RPUSH' or 'LPUSH', list, id)
    if type(queued) ~= 'number' then return false end
    if holder and holder ~= id and call('LINDEX', list, -2) == holder then
      -- This job had begun before the order became strict. The one that holds the key stays in front.
      call('RPOP', list, 2)
      call('RPUSH', list, id, holder)
    end
    local parked = call('ZSCORE', limits.space .. 'parked', key)
    if parked and limits.shared then call('SADD', limits.space .. 'users:' .. key, keys.limits .. '\n' .. keys.wake) end
    local is_alone = not parked and limits.shared and limits.strict and call('ZSCORE', keys.limits .. 'parked', key)
    if not parked and not is_alone then
      join(keys.limits, key, priority)
      limits.freed = true
      return true
    end
    if in_front or (parked and parked ~= 'inf' and tonumber(parked) <= now) then refresh(key) end
    return true
  end

  --- A job in `due`. Plain clients may choose ids, with colons in them: then the length of the id comes first.
  local function entry_of(key, id)
    local text = id .. ':' .. key
    return string.find(id, '^%d+$') and text or '+' .. #id .. ':' .. text
  end

  --- The id and the key of an entry of `due`; nil if it has another form.
  local function split_entry(entry)
    local length, text = string.match(entry, '^%+(%d+):(.*)$')
    if not length then return string.match(entry, '^(%d+):(.*)$') end
    return string.sub(text, 1, tonumber(length)), string.sub(text, tonumber(length) + 2)
  end

  --- Makes a job wait for a time, in ms.
  local function await_time(key, id, time)
    try('SADD', keys.limits .. 'later:' .. key, id)
    return try('ZADD', keys.limits .. 'due', string.format('%.0f', time), entry_of(key, id))
  end

  --- Removes a job that waits for a time.
  local function forget_time(key, id)
    call('SREM', keys.limits .. 'later:' .. key, id)
    return call('ZREM', keys.limits .. 'due', entry_of(key, id))
  end

  --- Frees the place of a claim that has ended in any way. `key` is its place; nil if it has none.
  local function vacate(key, member)
    if not key then return end
    -- A claim that is still in `places` is found again.
    call('SREM', limits.space .. 'running:' .. key, limits.mark .. member)
    call('HDEL', keys.limits .. 'places', member)
    let_go_if_ended(key, string.match(member, '^(.*):%d+$'))
    refresh(key)
  end

  --- Adds the keys that exist while a job of any key may start.
  local function add_rings(list)
    for _, priority in ipairs(PRIORITIES) do list[#list + 1] = keys.limits .. 'ready:' .. priority end
  end

  limits.list_of = list_of
  limits.priority_of = priority_of
  limits.blocked = blocked
  limits.join = join
  limits.park = park
  limits.next_job = next_job
  limits.refresh = refresh
  limits.let_go, limits.let_go_if_ended = let_go, let_go_if_ended
  limits.await_turn = await_turn
  limits.await_time = await_time
  limits.entry_of, limits.split_entry = entry_of, split_entry
  limits.forget_time, limits.vacate = forget_time, vacate
  limits.add_rings = add_rings
  limits.latest = limits.per and limits.per + MAX_SKEW + 1
  limits.MAX_MOVES = MAX_MOVES
  return limits
end
