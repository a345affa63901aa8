--[[
  A worker's turn: hands outcomes over, gives expired jobs back, and claims for the free slots.

  KEYS[1] prefix of the job hashes   KEYS[2] prefix of the locks   KEYS[3] leases   KEYS[4] scheduled
  KEYS[5] high   KEYS[6] normal   KEYS[7] low   KEYS[8] wake marker   KEYS[9] channel
  ARGV[1] now in ms, or ''   ARGV[2] length of a lease in ms   ARGV[3] free slots   ARGV[4] stalls allowed
  ARGV[5] 1 to give expired jobs back   ARGV[6…] outcomes, four each: "id:token", then
    'success', output, ''          'error', message, error as JSON
    'retry', ms to wait, error     'released', '', ''
  Returns { refused "id:token" …}, { id, token, attempts, stalls, options, input … }, { dropped id … }, ms until
  the next scheduled job is due or -1 (0 when no slot is left free).

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
local call, pcall = redis.call, redis.pcall
local expiry = now + lease
local refused, claims, dropped, leases = {}, {}, {}, {}

--- What is no count, nobody of ours wrote: 0.
local function count(value)
  local number = tonumber(value or 0)
  return number and number >= 0 and number < 2 ^ 53 and math.floor(number) or 0
end

--- Fields of a job; nothing where its key is no hash.
local function fields(id, ...)
  local job = redis.pcall('HMGET', keys.jobs .. id, ...)
  return job.err and {} or job
end

local function retry(id, token, wait, failure)
  local attempts = fields(id, 'attempts')[1]
  if not attempts then return false end
  redis.call('HSET', keys.jobs .. id, 'status', 'idle', 'settled', token, 'error:' .. attempts, failure)
  redis.call('ZADD', keys.scheduled, string.format('%.3f', (now + wait) / 1000), id)
  return true
end

local function release(id, token)
  local job = fields(id, 'attempts', 'queue')
  if not job[1] then return false end
  requeue(keys, id, job[2], 'attempts', math.max(0, count(job[1]) - 1), 'settled', token)
  return true
end

local function accept(id, token, status, output, failure)
  if status == 'success' then return finish(keys, id, stamp, status, output, 'settled', token) end
  if status == 'retry' then return retry(id, token, output, failure) end
  if status == 'released' then return release(id, token) end
  local attempts = fields(id, 'attempts')[1] or '1'
  return finish(keys, id, stamp, status, output, 'settled', token, 'error', failure, 'error:' .. attempts, failure)
end

--- What was accepted once stays accepted when it is sent again after a lost reply.
local function settle(member, ...)
  local id, token = string.match(member, '^(.*):(%d+)$')
  local accepted
  if redis.call('ZREM', keys.leases, member) == 1 then
    accepted = accept(id, token, ...)
  else
    accepted = fields(id, 'settled')[1] == token
  end
  if not accepted then refused[#refused + 1] = member end
end

--- Each goes before the one before it, so that the oldest is in front in the end.
local function newest_first(a, b)
  return (tonumber(string.match(a, '^(%d+):')) or 0) > (tonumber(string.match(b, '^(%d+):')) or 0)
end

local function recover(member)
  redis.call('ZREM', keys.leases, member)
  local id, token = string.match(member, '^(.*):(%d+)$')
  local job = fields(id, 'status', 'token', 'queue', 'stalls')
  if job[1] ~= 'busy' or job[2] ~= token then return end
  local stalls = count(job[4]) + 1
  if stalls <= max_stalls then
    requeue(keys, id, job[3], 'stalls', stalls)
  else
    local text = 'stalled: the worker died or lost its lease ' .. stalls .. ' times'
    local failure = cjson.encode({ name = 'JobStalledError', code = 'JOB_STALLED', message = text })
    finish(keys, id, stamp, 'error', text, 'stalls', stalls, 'error', failure)
  end
end

local function take(id, from)
  local key = keys.jobs .. id
  local job = pcall('HMGET', key, 'status', 'input', 'token', 'attempts', 'stalls', 'options')
  local status = job[1]
  if job.err or not status or status == 'success' or status == 'error' then
    dropped[#dropped + 1] = id
    return
  end
  local token, attempts = '1', '1'
  if job[3] then token, attempts = string.format('%.0f', count(job[3]) + 1), string.format('%.0f', count(job[4]) + 1) end
  call('HSET', key, 'status', 'busy', 'token', token, 'attempts', attempts, 'queue', from, 'started', stamp)
  call('PUBLISH', keys.channel, 'start:' .. id)
  leases[#leases + 1] = expiry
  leases[#leases + 1] = id .. ':' .. token
  local n = #claims
  claims[n + 1], claims[n + 2], claims[n + 3] = id, token, attempts
  claims[n + 4], claims[n + 5], claims[n + 6] = count(job[5]), job[6] or '', job[2] or ''
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

for i = 6, #ARGV, 4 do settle(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end
if ARGV[5] == '1' then
  local expired = redis.call('ZRANGEBYSCORE', keys.leases, '-inf', now, 'LIMIT', 0, 100)
  table.sort(expired, newest_first)
  for _, member in ipairs(expired) do recover(member) end
end
if slots == 0 then return { refused, claims, dropped, 0 } end
claim()
return { refused, claims, dropped, outlook() }
