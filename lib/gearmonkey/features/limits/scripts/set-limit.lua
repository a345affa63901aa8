--[[
  Stores a function's limit, or numbers that replace its own until they are taken back.

  KEYS[1] control   KEYS[2] prefix of the limits   KEYS[3] wake marker
  ARGV[1] limit, override, or rest to go on with an earlier call   ARGV[2] rules, or numbers for an override, '' to take it
  back   ARGV[3] numbers of the shared limit, or ''
  Returns 1, 2 if `rest` has more to do, or 0 if the function has no limit that an override could replace.

  Keys that are full are looked at again by the next claims: some by each call, and by each recovery if no more calls come.
]]
-- include calls: call
-- include limit-refusal: limit_refusal, shared_by
-- include look-again: look_again_at
-- include refusals: refusal_of

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
  local shared = shared_by(rules)
  if not shared then return own, '', false end
  return 'shared-limit:' .. shared .. ':', own, true
end

local before = call('HGET', control, 'limit')
local rules = field == 'limit' and value or before
if not rules then return 0 end
local space, mark, shared = space_of(rules)
-- Numbers that are stored without a look at full keys would not hold for these.
local refusal = refusal_of('HGET HSET HDEL', control) or limit_refusal(own, rules, {})
  or refusal_of('ZSCAN SMEMBERS DEL', space .. 'x') or refusal_of('HGET HSET HDEL', space .. 'rules')
  or refusal_of('HRANDFIELD', own .. 'x') or refusal_of('EXISTS LPUSH', wake)
if refusal then return refusal end

--- The prefixes of limits whose keys are to be looked at again. Those of an earlier call that has not ended come first, from their beginning.
local prefixes = {}
local looks = call('HGET', control, 'looks') or ''

local function look_at(prefix)
  for _, known in ipairs(prefixes) do
    if known == prefix then return end
  end
  if call('EXISTS', prefix .. 'parked') == 1 then prefixes[#prefixes + 1] = prefix end
end

if field == 'rest' then return looks ~= '' and look_again_at(looks, control, own, wake, space) and 2 or 1 end
for prefix in string.gmatch(string.gsub(looks, '^%d+ ', ''), '[^\n]+') do look_at(prefix) end

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
  if not was_shared then call('DEL', own .. 'holds') end
  look_at(old)
end

if before then move() end
local moved, changed = before and space_of(before) ~= space, nil
if field == 'override' then
  changed = store(shared and space .. 'rules' or control, 'override', value)
else
  changed = store(control, 'limit', value)
  if shared then changed = store(space .. 'rules', 'limit', numbers) or changed end
end
if changed and shared then look_at(own) end
if changed then look_at(space) end
if #prefixes == 0 then return 1 end
-- The same rules again: what an earlier call began goes on.
if not (changed or moved) then return look_again_at(looks, control, own, wake, space) and 2 or 1 end
return look_again_at('0 ' .. table.concat(prefixes, '\n'), control, own, wake, space) and 2 or 1
