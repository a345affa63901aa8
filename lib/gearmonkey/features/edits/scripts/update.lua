--[[
  Changes a job that waits and has not begun: its input, its queue, the time it is scheduled for.

  KEYS[1] prefix of the job hashes   KEYS[2] scheduled   KEYS[3] high   KEYS[4] normal   KEYS[5] low   KEYS[6] wake marker
  ARGV[1] id   ARGV[2] mark, or '' for any job with this id   ARGV[3] index in KEYS of the queue it moves to, 0 for none
  ARGV[4] when it is due, as times.lua reads it, or '' for a list   ARGV[5] 1 if ARGV[6] is the key that it is limited by from now on
  ARGV[7] input; left out if it stays
  Returns updated, missing, lost (another job has the id), finished or begun.

  A job has begun once a handler has run it; claims that were released don't count. A plain worker takes an id from its
  queue before it changes the job, so a job that moves has to be found in a queue. Searching a list takes time linear in
  its length.

  The first write adds the job to its new queue. If Redis refuses that, as when its memory is full, nothing has changed.
]]
-- include calls: call, try
-- include clock: clock
-- include control-key: control_of
-- include foreign: count
-- include limit-prefix: limit_prefix
-- include move-limited: move_limited
-- include refusals: refusal_of
-- include times: times_of
-- include unbegun: is_unbegun

local id, mark, target, score, input = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[7]
local hash, SCHEDULED, LISTS = KEYS[1] .. id, 2, { 3, 4, 5 }
local now = clock('')
score = times_of(score, now)

local job = call('HMGET', hash, 'status', 'attempts', 'snoozes', 'mark', 'key', 'after', 'place', 'flow')
if not job[1] or is_unbegun(job[6], job[8]) then return 'missing' end
if mark ~= '' and (job[4] or '0') ~= mark then return 'lost' end
if job[1] == 'success' or job[1] == 'error' then return 'finished' end
if job[1] ~= 'idle' or count(job[2]) > 0 or count(job[3]) > 0 then return 'begun' end
local refusal = refusal_of('HSET HDEL', hash) or refusal_of('ZADD ZREM ZSCORE', KEYS[SCHEDULED])
  or refusal_of('LPUSH LREM LPOS', KEYS[5]) or refusal_of('EXISTS LPUSH', KEYS[6])
if refusal then return refusal end

--- Removes the job from the lists other than its new queue. Searched from the left, where new jobs are.
local function leave_lists()
  for _, list in ipairs(LISTS) do
    local removed = list ~= target and try('LREM', KEYS[list], 1, id)
    if type(removed) == 'number' and removed > 0 then return true end
  end
  return false
end

--- Returns whether the job is in its new queue now; false if it is in none, or an error reply.
local function move()
  local due = try('ZSCORE', KEYS[SCHEDULED], id)
  local was_scheduled, added = type(due) == 'string', nil
  if target == SCHEDULED then added = try('ZADD', KEYS[target], score, id) else added = try('LPUSH', KEYS[target], id) end
  if type(added) ~= 'number' then return added end
  if was_scheduled then return target == SCHEDULED or call('ZREM', KEYS[SCHEDULED], id) == 1 end
  if leave_lists() then return true end
  if target == SCHEDULED then
    call('ZREM', KEYS[target], id)
    return false
  end
  -- The one at the left was added above. Another means that the job was in this list all the time, and it keeps its place.
  call('LREM', KEYS[target], 1, id)
  return type(try('LPOS', KEYS[target], id)) == 'number'
end

local key = ARGV[5] == '1' and ARGV[6] or job[5]
local keys = { jobs = KEYS[1], wake = KEYS[6], control = control_of(KEYS[1]), limits = limit_prefix(KEYS[1]) }

--- A job that waits for others stays where it is: its field `place` says where it goes then.
local function change_place()
  local names = { [SCHEDULED] = 'scheduled', [3] = 'high', [4] = 'normal', [5] = 'low' }
  local expires = string.match(job[7] or '', '^%l+:%+?%d*:(%d*)$') or ''
  local time = score ~= '' and string.format('%.0f', score * 1000) or ''
  call('HSET', hash, 'place', names[target] .. ':' .. time .. ':' .. expires)
end

if job[6] then
  if target > 0 then change_place() end
elseif job[5] and (target > 0 or key ~= job[5]) then
  local moved = move_limited(keys, now, id, job[5], key, target, score)
  if moved ~= true then return moved or 'begun' end
elseif target > 0 then
  local moved = move()
  if moved ~= true then return moved or 'begun' end
  if score ~= '' then call('HSET', hash, 'due', string.format('%.0f', score * 1000)) else call('HDEL', hash, 'due') end
  if try('EXISTS', KEYS[6]) == 0 then try('LPUSH', KEYS[6], '1') end
end
if input then call('HSET', hash, 'input', input) end
return 'updated'
