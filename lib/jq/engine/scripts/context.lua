--- What every part of a turn needs. Times are milliseconds; `settings` are those of engine/settings.ts.
local P = KEYS[1]
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local settings = cmsgpack.unpack(ARGV[2])
local call = redis.call

--- How many of a kind a turn sees to, so that it ends soon; the rest is for the next.
local BATCH = 100
--- Workers that nothing has been heard of for long: they are asked whether they are there.
local probed = {}
--- Set when something was left for the next turn.
local more = false
--- What happened in this turn, for metrics: nothing of it is stored.
local TALLIED = { 'enqueued', 'cancelled', 'done', 'error', 'retried', 'timed_out', 'lost' }
local tally = {}
--- How long those jobs waited that were handed out for the first time, in ms.
local waits = {}

local function count(what) tally[what] = (tally[what] or 0) + 1 end

local function read_tally()
  local counts = {}
  for i, what in ipairs(TALLIED) do counts[i] = tally[what] or 0 end
  return { counts, waits }
end

local function text(number) return string.format('%.0f', number) end

--- Whether Redis refused what takes memory, once that was asked.
local is_memory_full

--[[
  A write that takes no memory: Redis then allows all others of the turn though its memory be full. For what ends
  jobs. What makes more of them asks `refuse_if_full` from then on.
]]
local function write_though_full()
  if is_memory_full ~= nil then return end
  -- It changes nothing: there is no such key.
  local probe = redis.pcall('ZADD', P .. 'full', 'XX', 0, '')
  is_memory_full = type(probe) == 'table' and probe.err or false
  call('DEL', P .. 'full')
end

local function refuse_if_full()
  if is_memory_full then error({ err = is_memory_full }) end
end

--- The named fields of a job, or nil where there is no such job.
local function read_job(id, ...)
  local names, job = { 'name', ... }, {}
  local values = call('HMGET', P .. 'job:' .. id, unpack(names))
  if not values[1] then return nil end
  for i, name in ipairs(names) do job[name] = values[i] or nil end
  return job
end

--[[
  Jobs by their status and the time they got it, for lists and counts: of all names, and of each, but for those
  that run, who are few.

  status:STATUS, status:STATUS:NAME
  names      those with jobs, by when they were seen to have some
]]
local function file(id, name, from, to)
  if from == to then return end
  if from then
    call('ZREM', P .. 'status:' .. from, id)
    if from ~= 'running' then call('ZREM', P .. 'status:' .. from .. ':' .. name, id) end
  end
  if to then
    call('ZADD', P .. 'status:' .. to, now, id)
    if to ~= 'running' then call('ZADD', P .. 'status:' .. to .. ':' .. name, now, id) end
  end
end

--- Members whose time has come, at most a batch.
local function due(key)
  local members = call('ZRANGEBYSCORE', P .. key, '-inf', now, 'LIMIT', 0, BATCH)
  if #members == BATCH then more = true end
  return members
end
