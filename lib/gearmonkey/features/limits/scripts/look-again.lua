-- Gives look_again_at
-- include calls: call, try

--- Has the next claims look again at keys of a limit that are set aside: those of the prefixes in `left`, "CURSOR PREFIX", and
--- on further lines the prefixes that come then. Those of another limit than `space` are moved there. A call looks at some
--- hundred, as more would block the server, and notes in the control hash what is left. Returns whether anything is.
--- `own` is the prefix of the function.
local function look_again_at(left, control, own, wake, space)
  local MOST, MAX_SCANS = 500, 10
  local user, shared = own .. '\n' .. wake, space ~= own
  local found = false

  --- Wakes workers of the functions that wait for a key of a shared limit. Returns whether there are any.
  local function wake_users(of, key)
    local users = call('SMEMBERS', of .. 'users:' .. key)
    for _, other in ipairs(users) do
      local marker = string.match(other, '\n(.*)$')
      -- Without a right to it they find the key when they look by themselves.
      if try('EXISTS', marker) == 0 then try('LPUSH', marker, '1') end
    end
    return #users > 0
  end

  --- Has other functions of a shared limit look at a key again; if there are none that wait for it, nothing is left.
  local function leave(old, key)
    call('SREM', old .. 'users:' .. key, user)
    call('ZREM', old .. 'line:' .. key, own)
    if wake_users(old, key) then
      call('ZADD', old .. 'parked', '0', key)
    else
      call('ZREM', old .. 'parked', key)
      call('ZREM', old .. 'holds', key)
    end
  end

  local function move(from, key)
    if from == own then call('ZREM', from .. 'parked', key) else leave(from, key) end
    if shared then call('SADD', space .. 'users:' .. key, user) end
  end

  --- Looks at some keys. Returns what is left, or ''.
  local function scan(cursor, from, rest)
    local reply = call('ZSCAN', from .. 'parked', cursor, 'COUNT', string.format('%d', MOST))
    for i = 1, #reply[2], 2 do
      local key = reply[2][i]
      if from ~= space then move(from, key) end
      call('ZADD', space .. 'parked', '0', key)
      if shared then wake_users(space, key) end
      found = true
    end
    if reply[1] ~= '0' then return reply[1] .. ' ' .. from .. (rest == '' and '' or '\n' .. rest) end
    return rest == '' and '' or '0 ' .. rest
  end

  local scans = 0
  while left ~= '' and not found and scans < MAX_SCANS do
    local cursor, from, rest = string.match(left, '^(%d+) ([^\n]+)\n?(.*)$')
    left, scans = cursor and scan(cursor, from, rest) or '', scans + 1
  end
  if left == '' then call('HDEL', control, 'looks') else call('HSET', control, 'looks', left) end
  if found and call('EXISTS', wake) == 0 then call('LPUSH', wake, '1') end
  return left ~= ''
end
