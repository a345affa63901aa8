--[[
  Waiting jobs are in lanes. All jobs of a lane have the same name and fall under the same limits, so that
  either its best job may run or none. A lane is named "version|limit,limit…|name"; the version is that of the
  constraints it was found with.

  ready:LANE     jobs by priority. Ids grow, so of equal priority the oldest is first
  lane-heads     lane -> its best job
  heads          the best jobs of all lanes that may run, by priority: the first is the next to be handed out
  heads:NAME     those of one name
  waiting:LIMIT  the best jobs of lanes that wait for this limit, by priority
  was:LIMIT      those of them that are to be seen again, since constraints have changed
  places         lane -> the limit it waits for
  blocked        limits with lanes that wait, by the time to look again; 0 where constraints have changed, 1 while
                 there are lanes in was:LIMIT
  stirred        "n" and a name, or "c" and a class of workers, whose jobs and workers no turn has brought together yet
]]
-- Needs context: prefix, call, turn, BATCH
-- Gives stir, limits_of, name_of, show, queue, queue_newest, unqueue, unqueue_best, park, unpark, reshow, UNDER_WAY

local UNPARK = 16
--- The pause before the next lanes are shown while the shown ones take nothing.
local UNPARK_PAUSE_MS = 10
local UNDER_WAY = 1

local function stir(name)
  turn.stirred_names[name] = true
  turn.news['=' .. name] = true
end

local function parts_of(lane)
  local parts = turn.lane_parts[lane]
  if parts then return parts end
  local found_with, limits, name = string.match(lane, '^(%d+)|([^|]*)|(.*)$')
  parts = { found_with = found_with, limits = {}, name = name }
  for limit in string.gmatch(limits, '[^,]+') do parts.limits[#parts.limits + 1] = limit end
  turn.lane_parts[lane] = parts
  return parts
end

local function limits_of(lane)
  local parts = parts_of(lane)
  return parts.limits, parts.found_with
end

local function name_of(lane) return parts_of(lane).name end

local function show(lane, head, priority)
  call('ZADD', prefix .. 'heads', priority, head)
  call('ZADD', prefix .. 'heads:' .. name_of(lane), priority, head)
end

local function hide(lane, head)
  call('ZREM', prefix .. 'heads', head)
  call('ZREM', prefix .. 'heads:' .. name_of(lane), head)
end

--- The key with the best job of a lane that waits for a limit.
local function waiting_room(limit, head)
  local was = prefix .. 'was:' .. limit
  return head and call('ZSCORE', was, head) and was or prefix .. 'waiting:' .. limit
end

--- Updates the index after a change of the lane. True if it has another best job that may run.
local function reindex(lane)
  local first = call('ZRANGE', prefix .. 'ready:' .. lane, 0, 0, 'WITHSCORES')
  turn.best_priorities[lane] = tonumber(first[2])
  local old = call('HGET', prefix .. 'lane-heads', lane)
  if first[1] and first[1] == old then return end
  local limit = call('HGET', prefix .. 'places', lane)
  local room = limit and waiting_room(limit, old)
  if old then
    if room then call('ZREM', room, old) else hide(lane, old) end
  end
  if first[1] then
    call('HSET', prefix .. 'lane-heads', lane, first[1])
    if room then call('ZADD', room, first[2], first[1]) else show(lane, first[1], first[2]) end
    return not room
  elseif old then
    call('HDEL', prefix .. 'lane-heads', lane)
    if limit then call('HDEL', prefix .. 'places', lane) end
  end
end

local function queue(id, lane, priority)
  call('ZADD', prefix .. 'ready:' .. lane, priority, id)
  if reindex(lane) then stir(name_of(lane)) end
end

--- Queues a job that is newer than all others: it is the last of its priority.
local function queue_newest(id, lane, priority)
  local best = turn.best_priorities[lane]
  if not best or tonumber(priority) < best then return queue(id, lane, priority) end
  call('ZADD', prefix .. 'ready:' .. lane, priority, id)
end

--- Removes the best job of a lane that may run: it is handed out.
local function unqueue_best(id, lane)
  call('ZREM', prefix .. 'ready:' .. lane, id)
  hide(lane, id)
  local first = call('ZRANGE', prefix .. 'ready:' .. lane, 0, 0, 'WITHSCORES')
  turn.best_priorities[lane] = tonumber(first[2])
  if not first[1] then return call('HDEL', prefix .. 'lane-heads', lane) end
  call('HSET', prefix .. 'lane-heads', lane, first[1])
  show(lane, first[1], first[2])
end

local function unqueue(id, lane)
  if call('ZREM', prefix .. 'ready:' .. lane, id) == 1 then reindex(lane) end
end

--- Removes a lane from the heads until its limit allows more, or until `again`.
local function park(lane, head, priority, limit, again)
  hide(lane, head)
  call('ZADD', prefix .. 'waiting:' .. limit, priority, head)
  call('HSET', prefix .. 'places', lane, limit)
  -- If all lanes of the limit have to be seen again, this one must not delay that.
  local score = tonumber(call('ZSCORE', prefix .. 'blocked', limit) or nil)
  if not score or score > UNDER_WAY then call('ZADD', prefix .. 'blocked', again, limit) end
end

--- Shows the best of these waiting lanes again: this limit allows it.
local function show_some(room, count)
  local heads = call('ZRANGE', room, 0, count - 1, 'WITHSCORES')
  for i = 1, #heads, 2 do
    local lane = call('HGET', prefix .. 'job:' .. heads[i], 'lane')
    call('ZREM', room, heads[i])
    if lane then
      call('HDEL', prefix .. 'places', lane)
      show(lane, heads[i], heads[i + 1])
      stir(name_of(lane))
    end
  end
  return call('EXISTS', room) == 1
end

--- Shows the best lanes that wait for a limit again; the next ones soon, if these take nothing.
local function unpark(limit)
  local score = tonumber(call('ZSCORE', prefix .. 'blocked', limit) or nil)
  if show_some(prefix .. 'waiting:' .. limit, UNPARK) then
    if score and score > UNDER_WAY then call('ZADD', prefix .. 'blocked', turn.now + UNPARK_PAUSE_MS, limit) end
  elseif not score or score > UNDER_WAY then
    call('ZREM', prefix .. 'blocked', limit)
  end
end

--- After a change of constraints, shows every lane that waits for the limit again once, however many are added meanwhile.
local function reshow(limit)
  local was, waiting = prefix .. 'was:' .. limit, prefix .. 'waiting:' .. limit
  if call('ZSCORE', prefix .. 'blocked', limit) == '0' and call('EXISTS', waiting) == 1 then
    if call('EXISTS', was) == 1 then
      call('ZUNIONSTORE', was, 2, was, waiting)
      call('DEL', waiting)
    else
      call('RENAME', waiting, was)
    end
  end
  if show_some(was, BATCH) then
    call('ZADD', prefix .. 'blocked', UNDER_WAY, limit)
    turn.more = true
  elseif call('EXISTS', waiting) == 1 then
    call('ZADD', prefix .. 'blocked', turn.now + UNPARK_PAUSE_MS, limit)
  else
    call('ZREM', prefix .. 'blocked', limit)
  end
end
