-- Gives add_shares
-- include calls: call, try

--- Adds what functions need that share a limit: they take turns to start jobs of a key.
local function add_shares(limits)
  local keys, now = limits.keys, limits.now
  --- How long a key is set aside for the function whose turn it is, in ms. One without workers doesn't come.
  local TURN = 1000
  --- How long a function that doesn't come is remembered, in ms.
  local MEMORY = 86400000
  --- The member of a line whose score is the negative time until which the key is set aside.
  local UNTIL = ''

  local function line_of(key)
    return limits.space .. 'line:' .. key
  end

  --- The function whose turn is next, and the time until which the key is set aside for it; nil if it is for none.
  local function turn_of(key)
    local line = call('ZRANGE', line_of(key), '0', '1', 'WITHSCORES')
    if line[1] ~= UNTIL then return line[1] end
    local ends = -line[2]
    -- A clock that was set back makes no turn longer.
    return line[3], ends <= now + TURN and ends or 0
  end

  --- Whether a function has jobs that wait for a key.
  local function has_jobs(prefix, key)
    local lists = {}
    for _, priority in ipairs(limits.PRIORITIES) do lists[#lists + 1] = prefix .. 'wait:' .. priority .. ':' .. key end
    -- Without a right to it, it may have some.
    return try('EXISTS', unpack(lists)) ~= 0
  end

  --- A function that finds a key full waits for its turn.
  local function line_up(key)
    local line = line_of(key)
    if call('ZSCORE', line, keys.limits) then return end
    local last = call('ZREVRANGE', line, '0', '0', 'WITHSCORES')[2]
    call('ZADD', line, string.format('%.0f', math.max(0, last or 0) + 1), keys.limits)
    call('PEXPIRE', line, string.format('%.0f', MEMORY))
  end

  --- Sets a key aside for the function whose turn it is. Those that let it pass or have no jobs leave the line.
  local function pass_turn(key)
    local line = line_of(key)
    local first, ends = turn_of(key)
    while first do
      if not (ends and ends <= now) and has_jobs(first, key) then
        if not ends and first ~= keys.limits then call('ZADD', line, string.format('%.0f', -now - TURN), UNTIL) end
        return
      end
      call('ZREM', line, first, UNTIL)
      first, ends = turn_of(key)
    end
    if ends then call('ZREM', line, UNTIL) end
  end

  --- When a key is no longer set aside for another function; 0 if it is for none.
  local function set_aside(key)
    local first, ends = turn_of(key)
    return ends and first ~= keys.limits and ends or 0
  end

  --- Ends a turn with the start of a job. Returns whether the key was set aside.
  local function use_turn(key)
    local first, ends = turn_of(key)
    if not first then return false end
    local line = line_of(key)
    call('ZREM', line, keys.limits)
    -- Another function has let its turn pass.
    if ends then call('ZREM', line, first, UNTIL) end
    return ends ~= nil
  end

  limits.line_up, limits.pass_turn, limits.set_aside, limits.use_turn = line_up, pass_turn, set_aside, use_turn
end
