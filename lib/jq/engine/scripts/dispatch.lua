--- How many jobs, names and workers a turn looks at, and how many bytes of arguments it hands out.
local MAX_LOOKS = 1000
local MAX_HANDED_BYTES = 16 * 1024 * 1024
--- How many classes and workers are looked at at a time.
local FEW = 8
--- How many free workers of a class are asked for a name that they may lack.
local MAX_LACKING = 100

local looks = 0

local function is_over() return looks > MAX_LOOKS end

--- Hands a job to a worker, which has it when it, or the master for it, has accepted. Returns what the worker gets,
--- with how often the job was begun before.
local function assign(id, job, worker, w)
  local attempt = tonumber(job.attempt or 0) + 1
  if attempt == 1 then waits[#waits + 1] = now - job.enqueued end
  local key = P .. 'job:' .. id
  call('ZREM', P .. 'ready:' .. job.lane, id)
  reindex(job.lane)
  call('SADD', P .. 'held:' .. worker, id)
  hold(id, attempt, job.lane)
  call('HSET', key, 'worker', worker, 'attempt', attempt, 'handed', text(now), 'open', '', 'state', 'pushing')
  call('SADD', P .. 'pushing:' .. worker, id)
  call('ZADD', P .. 'deadlines', now + settings.push_lease, id)
  if w.url then
    -- One that failed last time gets one job, and no other before it has answered.
    if w.failures > 0 or w.timeouts >= settings.lost_after then
      call('HSET', P .. 'worker:' .. worker, 'rests', text(now + settings.push_lease))
    end
    offer(worker, true)
  end
  local argument = call('HGET', key, 'argument')
  return { id, tostring(attempt), worker, w.url or '', job.name, job.timeout, argument, job.begun or '0', w.batch }
end

--- The next limit that stands in a lane's way, and until when.
local function obstacle(lane)
  for _, limit in ipairs(limits_of(lane)) do
    local again = blocked_until(limit)
    if again then return limit, again end
  end
end

--- Lanes that were found with other constraints than there are now: their jobs want to be looked at anew.
local stale = {}
local MAX_STALE_BYTES = 4 * 1024 * 1024

local function collect_stale(lane)
  if #stale > 0 then return end
  local bytes = 0
  for _, id in ipairs(call('ZRANGE', P .. 'ready:' .. lane, 0, BATCH - 1)) do
    local job = call('HMGET', P .. 'job:' .. id, 'name', 'argument')
    bytes = bytes + #(job[2] or '')
    if bytes > MAX_STALE_BYTES and #stale > 0 then return end
    stale[#stale + 1] = { id, lane, job[1], job[2] }
  end
end

local version = call('GET', P .. 'constraints-version') or '0'

--[[
  The best job of these heads that may run now; parks what may not. Without one: whether there may
  be one, for the next turn or once jobs were matched anew.
]]
local function front(heads)
  while not is_over() do
    looks = looks + 1
    local head = call('ZRANGE', heads, 0, 0, 'WITHSCORES')
    if not head[1] then return nil end
    local id = head[1]
    local job = read_job(id, 'lane', 'priority', 'attempt', 'begun', 'timeout', 'enqueued')
    if not job then
      call('ZREM', P .. 'heads', id)
      call('ZREM', heads, id)
    else
      local _, found_with = limits_of(job.lane)
      if found_with ~= version then
        collect_stale(job.lane)
        return nil, nil, true
      end
      local limit, again = obstacle(job.lane)
      if not limit then return id, job end
      park(job.lane, id, head[2], limit, again)
    end
  end
  return nil, nil, true
end

local function heads_of(name) return P .. 'heads:' .. name end

--- Those of these names with the best job of all, or nil.
local function best_heads(names)
  if #names == 1 then return heads_of(names[1]) end
  local best, priority, id
  for _, name in ipairs(names) do
    local head = call('ZRANGE', heads_of(name), 0, 0, 'WITHSCORES')
    local score = tonumber(head[2])
    if score and (not best or score < priority or (score == priority and head[1] < id)) then
      best, priority, id = heads_of(name), score, head[1]
    end
  end
  looks = looks + math.floor(#names / FEW)
  return best
end

local class_names = {}

--- The heads with the best job for a class, or nil.
local function heads_for(class)
  if class == ALL then return P .. 'heads' end
  class_names[class] = class_names[class] or call('SMEMBERS', P .. 'class:' .. class)
  return best_heads(class_names[class])
end

--- Whether nothing goes before this job, the best of its name.
local function is_best(class, id)
  if class == ALL then return call('ZRANGE', P .. 'heads', 0, 0)[1] == id end
  class_names[class] = class_names[class] or call('SMEMBERS', P .. 'class:' .. class)
  return #class_names[class] == 1
end

--- The best job for workers of a class that lack no name; else as `front`.
local function best_for(class)
  while true do
    local heads = heads_for(class)
    if not heads then return nil end
    local id, job, later = front(heads)
    -- What was first may be parked by now, and the best job be one of another name.
    if id or later or class == ALL or #class_names[class] == 1 then return id, job, later end
  end
end

--- What a worker that asks gets; nothing, and whether there may be something; or nothing, since it has no room.
local function pull(worker, w)
  if call('SCARD', P .. 'held:' .. worker) >= w.max_jobs then return nil, nil, true end
  local id, job, later = best_for(w.class)
  if id then return assign(id, job, worker, w) end
  return nil, later
end

local known = {}

--- The least busy free worker of a class, at or after a place, that has the name; how busy; whether any was free.
local function idle_from(class, name, start, count)
  local free = P .. 'free:' .. class
  for place = start, start + count - 1 do
    local row = call('ZRANGE', free, place, place, 'WITHSCORES')
    if not row[1] then return nil, nil, nil, place > start end
    local worker = row[1]
    known[worker] = known[worker] or read_worker(worker)
    if has(worker, known[worker], name) then return worker, known[worker], tonumber(row[2]), true end
    looks = looks + 1
  end
  return nil, nil, nil, true
end

--- Where many lack the name, it goes on at a place that is drawn: each turn sees others.
local function idle_in(class, name)
  local worker, w, load, any = idle_from(class, name, 0, MAX_LACKING)
  if worker or not any then return worker, w, load, any end
  local others = call('ZCARD', P .. 'free:' .. class) - MAX_LACKING
  if others <= 0 then return nil, nil, nil, true end
  return idle_from(class, name, MAX_LACKING + math.random(0, others - 1), MAX_LACKING)
end

--- The least busy of the first that are free of all classes that want a name.
local function taker(name)
  local worker, w, load = idle_in(ALL, name)
  local at = 0
  while not is_over() do
    local classes = call('ZRANGE', P .. 'classes:' .. name, at, at + FEW - 1)
    for _, class in ipairs(classes) do
      looks = looks + 1
      local one, its, busy, any = idle_in(class, name)
      if one and (not worker or busy < load) then worker, w, load = one, its, busy end
      if any then
        at = at + 1
      else
        call('ZREM', P .. 'classes:' .. name, class)
        call('SADD', P .. 'dry:' .. class, name)
      end
    end
    if worker or #classes < FEW then return worker, w end
  end
  return worker, w, not worker
end

local handed, handed_bytes, most = {}, 0, 0

local function is_done() return #handed >= most or handed_bytes > MAX_HANDED_BYTES or is_over() end

local function hand(id, job, worker, w)
  local push = assign(id, job, worker, w)
  handed[#handed + 1] = push
  handed_bytes = handed_bytes + #(push[7] or '')
  if w.failures > 0 or w.timeouts > 0 then known[worker] = nil end
end

--- The best job that some free worker of the class has, past those of names that they lack, and who takes it.
local function past_lacks(class)
  local names = class == ALL and call('ZRANGE', P .. 'names', 0, MAX_LOOKS - 1) or class_names[class]
  local left = {}
  for _, name in ipairs(names) do
    if is_over() then break end
    if call('EXISTS', heads_of(name)) == 1 and idle_in(class, name) then left[#left + 1] = name end
  end
  local heads = #left > 0 and best_heads(left)
  local id, job = nil, nil
  if heads then id, job = front(heads) end
  if id then return id, job, idle_in(class, job.name) end
end

--- Gives a class with free workers the best jobs. True when it is through with it.
local function serve_class(class)
  while not is_done() do
    if call('EXISTS', P .. 'free:' .. class) == 0 then return true end
    local id, job, later = best_for(class)
    if not id then return not later end
    local worker, w = idle_in(class, job.name)
    if not worker then id, job, worker, w = past_lacks(class) end
    if not worker then return true end
    hand(id, job, worker, w)
  end
end

--- Finds workers for the jobs of a name. Who wants others as well gets the best of all. True when it is through with it.
local function serve_name(name)
  while not is_done() do
    local id, job, later = front(heads_of(name))
    if not id then return not later end
    local worker, w, unsure = taker(name)
    if not worker then return not unsure end
    if not is_best(w.class, id) then
      local better, other = best_for(w.class)
      if better and has(worker, w, other.name) then id, job = better, other end
    end
    hand(id, job, worker, w)
  end
end

--- Serves these and keeps what it is not through with for the next turn.
local function serve_all(kept, kind, members, serve)
  for _, member in ipairs(members) do
    local key = kind .. member
    if is_done() or #stale > 0 or not serve(member) then
      if not kept[key] then call('ZADD', P .. 'stirred', kind == 'c' and 0 or 1, key) end
      more = more or (most > 0 and #stale == 0)
    elseif kept[key] then
      call('ZREM', P .. 'stirred', key)
    end
  end
end

local function keys_of(set)
  local list = {}
  for key in pairs(set) do list[#list + 1] = key end
  table.sort(list)
  return list
end

--[[
  Hands out the best jobs to workers that they are pushed to, at most `limit`. It looks at what has changed: names with
  a job that has come up, and classes with a worker that has room. All others were brought together before.
]]
local function dispatch(limit)
  most = limit
  local kept = {}
  local list = limit > 0 and call('ZRANGE', P .. 'stirred', 0, BATCH - 1) or {}
  if #list == BATCH then more = true end
  for _, key in ipairs(list) do
    kept[key] = true
    local set = string.sub(key, 1, 1) == 'c' and stirred_classes or stirred_names
    set[string.sub(key, 2)] = true
  end
  serve_all(kept, 'c', keys_of(stirred_classes), serve_class)
  serve_all(kept, 'n', keys_of(stirred_names), serve_name)
  return handed
end

--- How many are named to requests that wait; of more they are told at large.
local MAX_NEWS = 100

--- Tells requests that wait of jobs that have come up and were not handed out.
local function tell_pullers()
  if next(news) == nil or call('EXISTS', P .. 'pullers') == 0 then return end
  local told = {}
  for item in pairs(news) do
    local is_name = string.sub(item, 1, 1) == '='
    if not is_name or call('EXISTS', heads_of(string.sub(item, 2))) == 1 then told[#told + 1] = item end
  end
  if #told == 0 then return end
  call('PUBLISH', P .. 'ready', #told > MAX_NEWS and '' or cjson.encode(told))
end
