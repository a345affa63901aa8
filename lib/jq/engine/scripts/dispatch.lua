--- Matches new jobs with workers that have room.
-- Needs context: prefix, call, turn, BATCH; classes: ALL; workers: read_worker, place, place_offered, knows;
--   selection: is_over, assign, front, heads_of, best_heads, is_best, best_for, MAX_LOOKS, FEW
-- Gives dispatch, tell_pullers

--- How many bytes of arguments a turn hands out.
local MAX_HANDED_BYTES = 16 * 1024 * 1024
--- How many free workers of a class are asked for a name that they may not know.
local MAX_ASKED = 100

--- The least busy free worker of a class, at or after a place, that knows the name; how busy; whether any was free.
local function idle_from(class, name, start, count)
  local free = prefix .. 'free:' .. class
  local rank = start
  while rank < start + count do
    local row = call('ZRANGE', free, rank, rank, 'WITHSCORES')
    if not row[1] then return nil, nil, nil, rank > start end
    local worker = row[1]
    local worker_row = read_worker(worker)
    if not worker_row then
      -- Its hash was deleted by hand, or evicted.
      call('ZREM', free, worker)
    elseif knows(worker, worker_row, name) then
      return worker, worker_row, tonumber(row[2]), true
    else
      rank = rank + 1
    end
    turn.looks = turn.looks + 1
  end
  return nil, nil, nil, true
end

--- If many workers don't know the name, it continues at a random place, so that each turn tries others.
local function idle_in(class, name)
  local worker, worker_row, load, any = idle_from(class, name, 0, MAX_ASKED)
  if worker or not any then return worker, worker_row, load, any end
  local others = call('ZCARD', prefix .. 'free:' .. class) - MAX_ASKED
  if others <= 0 then return nil, nil, nil, true end
  return idle_from(class, name, MAX_ASKED + math.random(0, others - 1), MAX_ASKED)
end

--- The least busy of the first free workers of all classes that take a name.
local function taker(name)
  local worker, worker_row, load = idle_in(ALL, name)
  local at = 0
  while not is_over() do
    local classes = call('ZRANGE', prefix .. 'classes:' .. name, at, at + FEW - 1)
    for _, class in ipairs(classes) do
      turn.looks = turn.looks + 1
      local one, its, busy, any = idle_in(class, name)
      if one and (not worker or busy < load) then worker, worker_row, load = one, its, busy end
      if any then
        at = at + 1
      else
        call('ZREM', prefix .. 'classes:' .. name, class)
        call('SADD', prefix .. 'dry:' .. class, name)
      end
    end
    if worker or #classes < FEW then return worker, worker_row end
  end
  return worker, worker_row, not worker
end

local function is_done() return #turn.handed >= turn.most or turn.handed_bytes > MAX_HANDED_BYTES or is_over() end

--- True if the worker is still free.
local function hand(id, job, worker, worker_row)
  local push = assign(id, job, worker, worker_row)
  turn.handed[#turn.handed + 1] = push
  turn.handed_bytes = turn.handed_bytes + #(push[7] or '')
  return place(worker, worker_row)
end

--- The best job whose name a free worker of the class knows, and that worker.
local function past_unknown_names(class)
  local names = class == ALL and call('ZRANGE', prefix .. 'names', 0, MAX_LOOKS - 1) or turn.class_names[class]
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

--- Gives a class with free workers the best jobs. True when the class is finished.
local function serve_class(class)
  local any = false
  while not is_done() do
    if not any and call('EXISTS', prefix .. 'free:' .. class) == 0 then return true end
    local id, job, later = best_for(class)
    if not id then return not later end
    local worker, worker_row = idle_in(class, job.name)
    if not worker then id, job, worker, worker_row = past_unknown_names(class) end
    if not worker then return true end
    any = hand(id, job, worker, worker_row)
  end
end

--- Finds workers for the jobs of a name. A worker that takes other names, too, gets the best job of all its names. True when the name is finished.
local function serve_name(name)
  while not is_done() do
    local id, job, later = front(heads_of(name))
    if not id then return not later end
    local worker, worker_row, unsure = taker(name)
    if not worker then return not unsure end
    if not is_best(worker_row.class, id) then
      local better, other = best_for(worker_row.class)
      if better and knows(worker, worker_row, other.name) then id, job = better, other end
    end
    hand(id, job, worker, worker_row)
  end
end

--- Serves these, and keeps unfinished ones for the next turn.
local function serve_all(kept, kind, members, serve)
  for _, member in ipairs(members) do
    local key = kind .. member
    if is_done() or #turn.stale > 0 or not serve(member) then
      if not kept[key] then call('ZADD', prefix .. 'stirred', kind == 'c' and 0 or 1, key) end
      turn.more = turn.more or (turn.most > 0 and #turn.stale == 0)
    elseif kept[key] then
      call('ZREM', prefix .. 'stirred', key)
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
  turn.most = limit
  place_offered()
  local kept = {}
  local list = limit > 0 and call('ZRANGE', prefix .. 'stirred', 0, BATCH - 1) or {}
  if #list == BATCH then turn.more = true end
  for _, key in ipairs(list) do
    kept[key] = true
    local set = string.sub(key, 1, 1) == 'c' and turn.stirred_classes or turn.stirred_names
    set[string.sub(key, 2)] = true
  end
  serve_all(kept, 'c', keys_of(turn.stirred_classes), serve_class)
  serve_all(kept, 'n', keys_of(turn.stirred_names), serve_name)
  return turn.handed
end

--- How many jobs are announced to waiting requests by name; more are announced in general.
local MAX_NEWS = 100

--- Notifies waiting requests of new jobs that were not handed out.
local function tell_pullers()
  if next(turn.news) == nil or call('EXISTS', prefix .. 'pullers') == 0 then return end
  local told = {}
  for item in pairs(turn.news) do
    local is_name = string.sub(item, 1, 1) == '='
    if not is_name or call('EXISTS', heads_of(string.sub(item, 2))) == 1 then told[#told + 1] = item end
  end
  if #told == 0 then return end
  redis.pcall('PUBLISH', prefix .. 'ready', #told > MAX_NEWS and '' or cjson.encode(told))
end
