--[[
  A worker's turn: hands outcomes over, gives expired jobs back, and claims for the free slots.

  KEYS[1] prefix of the job hashes   KEYS[2] prefix of the locks   KEYS[3] leases   KEYS[4] scheduled
  KEYS[5] high   KEYS[6] normal   KEYS[7] low   KEYS[8] wake marker   KEYS[9] channel
  ARGV[1] now in ms, or ''   ARGV[2] length of a lease in ms   ARGV[3] free slots   ARGV[4] stalls allowed
  ARGV[5…] outcomes, four each: "id:token", success | error | released, output, error as JSON or ''
  Returns { refused "id:token" …}, { id, token, attempts, input … }, { dropped id … }, ms until the next scheduled
  job is due or -1 (0 when more jobs wait than were claimed).

  A lease is the member "id:token" with the time it expires. The token grows with every claim, also with
  those that were released and don't count as attempts. What could fail on foreign data is called with
  pcall, so that no claim is lost half-way.
]]
-- include clock
-- include finish
-- include requeue

local now = clock(ARGV[1])
local lease, slots, max_stalls = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local keys = {
  jobs = KEYS[1], locks = KEYS[2], leases = KEYS[3], scheduled = KEYS[4],
  high = KEYS[5], normal = KEYS[6], low = KEYS[7], wake = KEYS[8], channel = KEYS[9],
}
local stamp = string.format('%.0f', now)
local refused, claims, dropped, leases = {}, {}, {}, {}

--- What is no count, nobody of ours wrote: 0.
local function count(value)
  local number = tonumber(value or 0)
  return number and number >= 0 and number < 2 ^ 53 and math.floor(number) or 0
end

local function settle(member, status, output, failure)
  local id, token = string.match(member, '^(.*):(%d+)$')
  local held = redis.call('ZREM', keys.leases, member) == 1
  local job = redis.pcall('HMGET', keys.jobs .. id, 'settled', 'queue', 'attempts')
  if job.err or not held then
    -- Sent again after a lost reply: what was accepted once stays accepted.
    if job.err or job[1] ~= token then refused[#refused + 1] = member end
  elseif status == 'released' then
    requeue(keys, id, job[2], now, 'attempts', math.max(0, count(job[3]) - 1), 'settled', token)
  elseif failure == '' then
    finish(keys, id, stamp, status, output, 'settled', token)
  else
    finish(keys, id, stamp, status, output, 'settled', token, 'error', failure)
  end
end

local function recover(member)
  redis.call('ZREM', keys.leases, member)
  local id, token = string.match(member, '^(.*):(%d+)$')
  local job = redis.pcall('HMGET', keys.jobs .. id, 'status', 'token', 'queue', 'stalls')
  if job.err or job[1] ~= 'busy' or job[2] ~= token then return end
  local stalls = count(job[4]) + 1
  if stalls <= max_stalls then
    requeue(keys, id, job[3], now, 'stalls', stalls)
  else
    local text = 'stalled: the worker died or lost its lease ' .. stalls .. ' times'
    local failure = cjson.encode({ name = 'JobStalledError', code = 'JOB_STALLED', message = text })
    finish(keys, id, stamp, 'error', text, 'stalls', stalls, 'error', failure)
  end
end

local function take(id, from)
  local job = redis.pcall('HMGET', keys.jobs .. id, 'status', 'input', 'token', 'attempts')
  if job.err or not job[1] or job[1] == 'success' or job[1] == 'error' then
    dropped[#dropped + 1] = id
    return
  end
  local token = string.format('%.0f', count(job[3]) + 1)
  local attempts = string.format('%.0f', count(job[4]) + 1)
  redis.call('HSET', keys.jobs .. id, 'status', 'busy', 'token', token, 'attempts', attempts, 'queue', from,
    'started', stamp)
  redis.call('PUBLISH', keys.channel, 'start:' .. id)
  leases[#leases + 1] = now + lease
  leases[#leases + 1] = id .. ':' .. token
  for _, value in ipairs({ id, token, attempts, job[2] or '' }) do claims[#claims + 1] = value end
end

local function free() return slots - #leases / 2 end

local function due()
  local ids = redis.pcall('ZRANGEBYSCORE', keys.scheduled, 0, now / 1000, 'LIMIT', 0, free())
  return ids.err and {} or ids
end

local function take_scheduled()
  local ids = due()
  if #ids > 0 then redis.call('ZREM', keys.scheduled, unpack(ids)) end
  for _, id in ipairs(ids) do take(id, 'scheduled') end
  return #ids > 0
end

local function take_from(queue)
  local ids = redis.pcall('RPOP', keys[queue], free())
  if not ids or ids.err then return false end
  for _, id in ipairs(ids) do take(id, queue) end
  return true
end

--- Dropped ids leave slots free, so each queue is asked until it is empty or the slots are full.
local function claim()
  while free() > 0 and take_scheduled() do end
  for _, queue in ipairs({ 'high', 'normal', 'low' }) do
    while free() > 0 and take_from(queue) do end
  end
  if #leases > 0 then redis.call('ZADD', keys.leases, unpack(leases)) end
end

local function waiting()
  for _, queue in ipairs({ 'high', 'normal', 'low' }) do
    local length = redis.pcall('LLEN', keys[queue])
    if type(length) == 'number' and length > 0 then return true end
  end
  return false
end

--- Wakes the next worker if jobs are left; otherwise tells how long there will be none.
local function outlook()
  local next = redis.pcall('ZRANGEBYSCORE', keys.scheduled, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  local wait = not next.err and next[2] and math.max(0, math.ceil(next[2] * 1000 - now)) or -1
  if free() > 0 then return wait end
  if redis.call('EXISTS', keys.wake) == 0 and (wait == 0 or waiting()) then
    redis.call('LPUSH', keys.wake, '1')
  end
  return 0
end

for i = 5, #ARGV, 4 do settle(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', keys.leases, '-inf', now, 'LIMIT', 0, 100)) do recover(member) end
if slots == 0 then return { refused, claims, dropped, 0 } end
claim()
return { refused, claims, dropped, outlook() }
