--- What all parts of a turn use. Times are milliseconds; `settings` are those of engine/settings.ts.
-- Gives count, read_tally, text, write_though_full, forget_read, refuse_if_full, read_fields, read_job, file, due,
--   outlook, prefix, settings, call, turn, BATCH

local prefix = KEYS[1]
local settings = cmsgpack.unpack(ARGV[2])
local call = redis.call

local function clock()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

--- The state of a turn, besides that in Redis.
local turn = {
  now = tonumber(ARGV[1]) or clock(),
  --- Whether work is left for the next turn.
  more = false,
  --- Whether Redis refuses writes for lack of memory; nil if that was not checked.
  memory_full = nil,
  --- The version of the constraints that jobs have to be matched with.
  version = call('GET', prefix .. 'constraints-version') or '0',
  --- Jobs that were matched with another version: the master matches them again.
  stale = {},
  --- Whether all jobs that are handed out are counted under the present constraints; nil if that was not read.
  counted = nil,
  --- Names with a new job, and classes with a worker that has room: the dispatch only reads these.
  stirred_names = {}, stirred_classes = {},
  --- Names with a new job, and pulling workers that have room again, for waiting requests.
  news = {},
  --- Jobs to push, the sum of the bytes of their arguments, and the most jobs.
  handed = {}, handed_bytes = 0, most = 0,
  --- How many jobs, names and workers were read.
  looks = 0,
  --- What was read of workers, names of classes and names of lanes. Code that writes a row's data changes the row, too.
  worker_rows = {}, class_names = {}, lane_parts = {},
  --- Workers to offer before jobs are handed out, and then how many jobs each has.
  offers = {}, loads = {},
  --- Priority of the best job of lanes; whether names are listed; how many jobs wait, nil if that was not read.
  best_priorities = {}, listed_names = {}, waiting = nil,
  --- Workers that were silent for long: the master asks whether they still run.
  probed = {},
  --- How many Idempotency-Keys are stored, nil if that was not read, and how many this turn adds.
  keys_known = nil, keys_new = 0,
  --- Events, and the waits of jobs that were handed out for the first time, in ms: for metrics, not stored.
  tally = {}, waits = {},
}

--- How many items of a kind a turn handles, so that it ends soon; the next turn handles the rest.
local BATCH = 100
local TALLIED = { 'enqueued', 'cancelled', 'done', 'error', 'retried', 'timed_out', 'lost' }

local function count(what) turn.tally[what] = (turn.tally[what] or 0) + 1 end

local function read_tally()
  local counts = {}
  for i, what in ipairs(TALLIED) do counts[i] = turn.tally[what] or 0 end
  return { counts, turn.waits }
end

local function text(number) return string.format('%.0f', number) end

--[[
  A write that uses no memory: Redis then allows all others of the turn even if its memory is full. For what ends
  jobs. What makes more of them asks `refuse_if_full` from then on.
]]
local function write_though_full()
  if turn.memory_full ~= nil then return end
  -- Changes nothing: there is no such key.
  local probe = redis.pcall('ZADD', prefix .. 'full', 'XX', 0, '')
  turn.memory_full = type(probe) == 'table' and probe.err or false
  call('DEL', prefix .. 'full')
end

--- Forgets what was read: an operation that failed may have changed it.
local function forget_read()
  turn.worker_rows, turn.best_priorities, turn.listed_names, turn.waiting = {}, {}, {}, nil
end

local function refuse_if_full()
  if turn.memory_full then error({ err = turn.memory_full }) end
end

--- These fields of a job, the first of which is 'name', or nil if there is no such job.
local function read_fields(id, names)
  local values = call('HMGET', prefix .. 'job:' .. id, unpack(names))
  if not values[1] then return nil end
  local job = {}
  for i = 1, #names do job[names[i]] = values[i] or nil end
  return job
end

--- The named fields of a job and its name, or nil if there is no such job.
local function read_job(id, ...) return read_fields(id, { 'name', ... }) end

--[[
  Jobs by their status and the time they got it, for lists and counts: of all names, and of each, but for those
  that run, who are few.

  status:STATUS, status:STATUS:NAME
  names      those with jobs, by when they were seen to have some
]]
local WAITS = { queued = true, retrying = true }

local function file(id, name, from, to)
  if from == to then return end
  if WAITS[from] or WAITS[to] then turn.waiting = nil end
  if from then
    call('ZREM', prefix .. 'status:' .. from, id)
    if from ~= 'running' then call('ZREM', prefix .. 'status:' .. from .. ':' .. name, id) end
  end
  if to then
    call('ZADD', prefix .. 'status:' .. to, turn.now, id)
    if to ~= 'running' then call('ZADD', prefix .. 'status:' .. to .. ':' .. name, turn.now, id) end
  end
end

--- Members that are due, at most a batch.
local function due(key)
  local members = call('ZRANGEBYSCORE', prefix .. key, '-inf', turn.now, 'LIMIT', 0, BATCH)
  if #members == BATCH then turn.more = true end
  return members
end

--- Milliseconds until something is due, or -1.
local function outlook()
  local first
  for _, key in ipairs({ 'delayed', 'deadlines', 'resting', 'silent', 'gone', 'blocked' }) do
    local score = tonumber(call('ZRANGE', prefix .. key, 0, 0, 'WITHSCORES')[2])
    if score and (not first or score < first) then first = score end
  end
  return first and math.max(0, math.ceil(first - turn.now)) or -1
end
