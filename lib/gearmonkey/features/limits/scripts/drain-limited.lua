--[[
  Ends jobs with a key that wait, some hundred in a call, as drain.lua does for others. The caller calls until the cursor is 0.

  KEYS[1] prefix of the job hashes   KEYS[2] prefix of the locks   KEYS[3] channel   KEYS[4] control
  KEYS[5] wake marker
  ARGV[1] now in ms, or ''   ARGV[2] largest id that is ended   ARGV[3] cursor, 0 at first   ARGV[4] which jobs, as for
  drain.lua: '' for those that wait for the turn of their key   ARGV[5] high, normal or low for these
  Returns the ids of the jobs that have ended, the next cursor, and 1 if settle-flows.lua has something to do.

  Of each key up to 250 jobs are looked at, from the end where old ones are; the key is looked at again while it had as many.
  Workers move keys between those that have a turn and those that are set aside. So a call looks at all of them if they are
  few. More are scanned: those that have a turn, those that are set aside, those that are for this function alone, then
  those that have a turn again.
]]
-- include calls: call
-- include clock: clock
-- include drained: fate, finish_drained
-- include end-refusal: end_refusal
-- include limit-prefix: limit_prefix
-- include limit-refusal: limit_refusal
-- include limits: open_limits
-- include refusals: refusal_of

local cursor, which, priority = ARGV[3], ARGV[4], ARGV[5]
local keys = {
  jobs = KEYS[1], locks = KEYS[2], channel = KEYS[3], control = KEYS[4], wake = KEYS[5],
  limits = limit_prefix(KEYS[1]),
}
local STEP, KEYS_A_STEP, FEW_KEYS = 250, 20, 100
local now, ended = clock(ARGV[1]), {}
local drain = { keys = keys, now = now, last = tonumber(ARGV[2]), which = which, ended = ended }

local stored = call('HMGET', keys.control, 'limit', 'override')
local limits = stored[1] and open_limits(keys, now, unpack(stored))
if not limits then return { ended, '0' } end
local refusal = end_refusal(keys, 'cancelled') or limit_refusal(keys.limits, stored[1], {})
  or refusal_of('LRANGE ZRANGE ZCARD ZSCAN', keys.limits .. 'x') or refusal_of('EXISTS LPUSH', keys.wake)
if refusal then return refusal end

--- Ends the jobs of one list. Returns whether there may be more.
local function drain_key(key)
  local list = limits.list_of(key, priority)
  local ids = call('LRANGE', list, -STEP, -1)
  local taken = 0
  for i = #ids, 1, -1 do
    local what = fate(drain, ids[i])
    if what ~= 'stay' then
      call('LREM', list, -1, ids[i])
      taken = taken + 1
    end
    if what == 'end' then finish_drained(drain, ids[i]) end
    if what ~= 'stay' then limits.let_go(key, ids[i]) end
  end
  if taken > 0 then limits.refresh(key) end
  return taken > 0 and #ids == STEP
end

local rings = { keys.limits .. 'ready:' .. priority, limits.space .. 'parked' }
if limits.shared then rings[3] = keys.limits .. 'parked' end

--- Looks at all keys. Returns the next cursor.
local function drain_few_keys()
  for _, ring in ipairs(rings) do
    for _, key in ipairs(call('ZRANGE', ring, 0, -1)) do
      if drain_key(key) or #ended >= STEP then return 'again' end
    end
  end
  return '0'
end

local function count_keys()
  local sum = 0
  for _, ring in ipairs(rings) do sum = sum + call('ZCARD', ring) end
  return sum
end

--- The cursor is the part, from 0 on, and the scan's cursor in it. A part with the cursor 0 begins.
local function drain_turns()
  local part, at = string.match(cursor, '^(%d):(%d+)$')
  part, at = tonumber(part or '0'), at or '0'
  if part == 0 and at == '0' and count_keys() <= FEW_KEYS then return drain_few_keys() end
  local found = call('ZSCAN', rings[part % #rings + 1], at, 'COUNT', KEYS_A_STEP)
  local again = false
  for i = 1, #found[2], 2 do again = drain_key(found[2][i]) or again end
  if again then return part .. ':' .. at end
  if found[1] ~= '0' then return part .. ':' .. found[1] end
  return part == #rings and '0' or part + 1 .. ':0'
end

local function drain_due()
  local found = call('ZSCAN', keys.limits .. 'due', cursor, 'COUNT', STEP)
  for i = 1, #found[2], 2 do
    local id, key = limits.split_entry(found[2][i])
    local what = id and fate(drain, id) or 'stay'
    if what ~= 'stay' then limits.forget_time(key, id) end
    if what == 'end' then finish_drained(drain, id) end
    if what ~= 'stay' then
      limits.let_go(key, id)
      limits.refresh(key)
    end
  end
  return found[1]
end

local next_cursor = which == '' and drain_turns() or which ~= '' and drain_due()
if limits.freed and call('EXISTS', keys.wake) == 0 then call('LPUSH', keys.wake, '1') end
return { ended, next_cursor, keys.ended_in_flow and 1 or 0 }
