--[[
  Stores a function's limit, or numbers that replace its own until they are taken back.

  KEYS[1] control   KEYS[2] prefix of the limits   KEYS[3] wake marker
  ARGV[1] limit or override   ARGV[2] rules, or numbers for an override, '' to take it back   ARGV[3] numbers of the shared limit, or ''
  Returns 1, or 0 if the function has no limit that an override could replace.

  Keys that are full are looked at again by the next claims.
]]
local call = redis.call
local control, field, value, numbers = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local own, wake = KEYS[2], KEYS[3]

local function store(key, name, text)
  if text == '' then return call('HDEL', key, name) > 0 end
  if call('HGET', key, name) == text then return false end
  call('HSET', key, name, text)
  return true
end

--- Where the jobs of these rules are counted, how members are marked there, and whether it is a shared limit.
local function space_of(rules)
  local shared = rules and string.match(rules, '^%d*:%d*:%d*:%a+:(.+)$')
  if not shared then return own, '', false end
  return 'shared-limit:' .. shared .. ':', own, true
end

local before = call('HGET', control, 'limit')
local rules = field == 'limit' and value or before
if not rules then return 0 end
local space, mark, shared = space_of(rules)

--- Wakes workers of the functions that wait for a key of a shared limit. Returns whether there are any.
local function wake_users(of, key)
  local users = call('SMEMBERS', of .. 'users:' .. key)
  for _, user in ipairs(users) do
    local marker = string.match(user, '\n(.*)$')
    if call('EXISTS', marker) == 0 then call('LPUSH', marker, '1') end
  end
  return #users > 0
end

--- Has other functions of a shared limit look at a key again; if there are none that wait for it, nothing is left.
local function leave(old, key)
  call('SREM', old .. 'users:' .. key, own .. '\n' .. wake)
  call('ZREM', old .. 'line:' .. key, own)
  if wake_users(old, key) then
    call('ZADD', old .. 'parked', '0', key)
  else
    call('ZREM', old .. 'parked', key)
    call('ZREM', old .. 'holds', key)
  end
end

--- Counts running jobs where these rules do from now on, and has the keys that are full there looked at again.
local function move()
  local old, old_mark, was_shared = space_of(before)
  if old == space then return end
  -- All of them, with a right that a worker has.
  local places = call('HRANDFIELD', own .. 'places', '1000000', 'WITHVALUES')
  for i = 1, #places, 2 do
    call('SREM', old .. 'running:' .. places[i + 1], old_mark .. places[i])
    call('SADD', space .. 'running:' .. places[i + 1], mark .. places[i])
  end
  for _, key in ipairs(call('ZRANGE', old .. 'parked', '0', '-1')) do
    if was_shared then leave(old, key) end
    call('ZADD', space .. 'parked', '0', key)
    if shared then call('SADD', space .. 'users:' .. key, own .. '\n' .. wake) end
  end
  if not was_shared then call('DEL', own .. 'parked', own .. 'holds') end
end

if before then move() end
local changed
if field == 'override' then
  changed = store(shared and space .. 'rules' or control, 'override', value)
else
  changed = store(control, 'limit', value)
  if shared then changed = store(space .. 'rules', 'limit', numbers) or changed end
end
--- Keys that were full for this function alone are looked at again with the others.
local function join_shared()
  for _, key in ipairs(call('ZRANGE', own .. 'parked', '0', '-1')) do
    call('ZADD', space .. 'parked', '0', key)
    call('SADD', space .. 'users:' .. key, own .. '\n' .. wake)
  end
  call('DEL', own .. 'parked')
end

if changed and shared then join_shared() end
if changed and call('EXISTS', space .. 'parked') == 1 then
  -- Infinity times zero is zero here: every key is due.
  call('ZUNIONSTORE', space .. 'parked', 1, space .. 'parked', 'WEIGHTS', 0)
  if call('EXISTS', wake) == 0 then call('LPUSH', wake, '1') end
  if shared then
    for _, key in ipairs(call('ZRANGE', space .. 'parked', '0', '999')) do wake_users(space, key) end
  end
end
return 1
