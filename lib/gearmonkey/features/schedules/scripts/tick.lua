--[[
  Creates the jobs of due ticks and sets the next ticks. What another worker has done already is left out.

  KEYS[1] ids   KEYS[2] prefix of the job hashes   KEYS[3] scheduled   KEYS[4] channel   KEYS[5] wake marker
  KEYS[6] schedules   KEYS[7] ticks   KEYS[8] unique keys
  ARGV[1] now in ms, or ''   ARGV[2] mark   ARGV[3…] for each schedule: id, version, slot of the tick, slot of its next
    tick or '', the time of that in ms, how many jobs there are in all or '', 'skip' to make no job while the last one waits or runs, which job stands for a
    new one ('unfinished', 'waiting', 'throttle' or ''), ms of a throttle, unique key, input, number of jobs; then for each job the time of its slot in ms, the time from which it may run in seconds, its options as JSON
  Returns { ms until the next tick or -1, then id of the schedule and id of the job for each job }.

  With the last of its jobs a schedule has no next tick; a tick that makes no job is none of them.

  A tick only goes forward: it is taken by its version and slot, and the next one is set with its jobs. So it does not
  matter how many workers try, or whether one tries again after a lost reply.
]]
-- include calls: call, try
-- include clock: clock
-- include next-tick: next_tick
-- include refusals: refusal_of

local ids, jobs, scheduled, channel, wake, schedules, ticks, unique = unpack(KEYS)
local now, mark = clock(ARGV[1]), ARGV[2]
local created = {}
--- A plain worker that died leaves its job `busy`. After this time that no longer counts.
local MAX_BUSY_MS = 90000000

local function failed(reply)
  return type(reply) == 'table' and reply.err
end

--- Whether a job, "id:mark", waits, or also whether it runs.
local function is_there(last, waits_only)
  local job, of = string.match(last or '', '^(%d+):(%d+)$')
  if not job then return false end
  local found = try('HMGET', jobs .. job, 'status', 'mark', 'token', 'created')
  if found.err or found[2] ~= of then return false end
  if found[1] == 'idle' then return true end
  if waits_only then return false end
  return found[1] == 'busy' and (found[3] or now - (tonumber(found[4]) or 0) < MAX_BUSY_MS) and true
end

--- Whether a job with the unique key stands for a new one. Entries are those of unique.lua.
local function is_taken(kind, span, key)
  if kind == '' then return false end
  local entry = try('HMGET', unique, key)
  local id, of, since, till = string.match(not entry.err and entry[1] or '', '^(%d+):(%d+):(%d+):?(%d*)$')
  if not id then return false end
  if kind == 'throttle' then return till ~= '' and now < tonumber(till) and now - since < tonumber(span) end
  return is_there(id .. ':' .. of, kind == 'waiting')
end

--- Creates a job. Commands that Redis may refuse come first, or are undone. Returns its id, or nil and the refusal.
local function create(input, due, options)
  local id = string.format('%.0f', call('INCRBY', ids, 1))
  local queued = try('ZADD', scheduled, due, id)
  if failed(queued) then
    call('INCRBY', ids, -1)
    return nil, queued
  end
  local fields = { 'status', 'idle', 'input', input, 'created', string.format('%.0f', now), 'mark', mark }
  local written = try('HSET', jobs .. id, 'due', string.format('%.0f', due * 1000), 'options', options, unpack(fields))
  if failed(written) then
    try('ZREM', scheduled, id)
    return nil, written
  end
  try('PUBLISH', channel, 'create:' .. id)
  return id
end

local function set_next(id, slot, time)
  if slot == '' then
    call('HDEL', schedules, 'slot:' .. id)
    call('ZREM', ticks, id)
  else
    call('HSET', schedules, 'slot:' .. id, slot)
    call('ZADD', ticks, time, id)
  end
end

--- A tick whose jobs are there, but not its next one, would be made again and again.
local refusal = refusal_of('INCRBY', ids) or refusal_of('ZADD', scheduled) or refusal_of('HSET', jobs .. 'x')
  or refusal_of('HSET', unique) or refusal_of('HSET HDEL', schedules) or refusal_of('ZADD ZREM', ticks)
if refusal then return refusal end

local at = 3
while at <= #ARGV do
  local id, version, slot, next_slot, next_time, limit, if_running, kind, span, key, input, count = unpack(ARGV, at, at + 11)
  local known = call('HMGET', schedules, 'version:' .. id, 'slot:' .. id, 'job:' .. id, 'made:' .. id)
  local last, made, most = known[3], tonumber(known[4]) or 0, tonumber(limit) or math.huge
  if (known[1] or '') == version and (known[2] or '') == slot then
    for job = at + 12, at + 11 + 3 * count, 3 do
      if made < most and not (if_running == 'skip' and is_there(last)) and not is_taken(kind, span, key) then
        local new, refusal = create(input, ARGV[job + 1], ARGV[job + 2])
        if refusal then return refusal end
        last, made = new .. ':' .. mark, made + 1
        call('HSET', schedules, 'previous:' .. id, ARGV[job], 'job:' .. id, last, 'made:' .. id, made)
        if kind ~= '' then
          local ends = kind == 'throttle' and ':' .. string.format('%.0f', now + span) or ''
          try('HSET', unique, key, last .. ':' .. string.format('%.0f', now) .. ends)
        end
        created[#created + 1], created[#created + 2] = id, new
      end
    end
    set_next(id, made < most and next_slot or '', next_time)
  end
  at = at + 12 + 3 * count
end
if #created > 0 and try('EXISTS', wake) == 0 then try('LPUSH', wake, '1') end
return { next_tick(ticks, now), unpack(created) }
