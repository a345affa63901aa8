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
local UNPARK = 16
--- Between the lanes that are shown and the next, while those shown take nothing.
local UNPARK_PAUSE_MS = 10
local UNDER_WAY = 1

--- Names with a job that has come up, and classes with a worker that has room: the dispatch looks at no others.
local stirred_names, stirred_classes = {}, {}
--- Names with a job that has come up, and workers that pull and have room again: for requests that wait.
local news = {}

local function stir(name)
  stirred_names[name] = true
  news['=' .. name] = true
end

local function limits_of(lane)
  local version, limits = string.match(lane, '^(%d+)|([^|]*)|')
  local list = {}
  for limit in string.gmatch(limits, '[^,]+') do list[#list + 1] = limit end
  return list, version
end

local function name_of(lane) return string.match(lane, '^[^|]*|[^|]*|(.*)$') end

local function show(lane, head, priority)
  call('ZADD', P .. 'heads', priority, head)
  call('ZADD', P .. 'heads:' .. name_of(lane), priority, head)
end

local function hide(lane, head)
  call('ZREM', P .. 'heads', head)
  call('ZREM', P .. 'heads:' .. name_of(lane), head)
end

--- Where the best job of a lane is that waits for a limit.
local function waiting_room(limit, head)
  local was = P .. 'was:' .. limit
  return head and call('ZSCORE', was, head) and was or P .. 'waiting:' .. limit
end

--- Brings the index up to date after the lane has changed. True when it has another best job that may run.
local function reindex(lane)
  local first = call('ZRANGE', P .. 'ready:' .. lane, 0, 0, 'WITHSCORES')
  local old = call('HGET', P .. 'lane-heads', lane)
  if first[1] and first[1] == old then return end
  local limit = call('HGET', P .. 'places', lane)
  local room = limit and waiting_room(limit, old)
  if old then
    if room then call('ZREM', room, old) else hide(lane, old) end
  end
  if first[1] then
    call('HSET', P .. 'lane-heads', lane, first[1])
    if room then call('ZADD', room, first[2], first[1]) else show(lane, first[1], first[2]) end
    return not room
  elseif old then
    call('HDEL', P .. 'lane-heads', lane)
    if limit then call('HDEL', P .. 'places', lane) end
  end
end

local function queue(id, lane, priority)
  call('ZADD', P .. 'ready:' .. lane, priority, id)
  if reindex(lane) then stir(name_of(lane)) end
end

local function unqueue(id, lane)
  if call('ZREM', P .. 'ready:' .. lane, id) == 1 then reindex(lane) end
end

--- Takes a lane out of the heads until its limit allows more, or until `again`.
local function park(lane, head, priority, limit, again)
  hide(lane, head)
  call('ZADD', P .. 'waiting:' .. limit, priority, head)
  call('HSET', P .. 'places', lane, limit)
  -- Where all lanes of the limit are to be seen again, this one must not put that off.
  local score = tonumber(call('ZSCORE', P .. 'blocked', limit) or nil)
  if not score or score > UNDER_WAY then call('ZADD', P .. 'blocked', again, limit) end
end

--- The best of the lanes in there may run, as far as this limit goes.
local function show_some(room, count)
  local heads = call('ZRANGE', room, 0, count - 1, 'WITHSCORES')
  for i = 1, #heads, 2 do
    local lane = call('HGET', P .. 'job:' .. heads[i], 'lane')
    call('ZREM', room, heads[i])
    if lane then
      call('HDEL', P .. 'places', lane)
      show(lane, heads[i], heads[i + 1])
      stir(name_of(lane))
    end
  end
  return call('EXISTS', room) == 1
end

--- Lets the best of the lanes that wait for a limit be seen again; the next soon, if these take nothing.
local function unpark(limit)
  local score = tonumber(call('ZSCORE', P .. 'blocked', limit) or nil)
  if show_some(P .. 'waiting:' .. limit, UNPARK) then
    if score and score > UNDER_WAY then call('ZADD', P .. 'blocked', now + UNPARK_PAUSE_MS, limit) end
  elseif not score or score > UNDER_WAY then
    call('ZREM', P .. 'blocked', limit)
  end
end

--- Constraints have changed: every lane that waits for the limit is seen again once, however many join it meanwhile.
local function reshow(limit)
  local was, waiting = P .. 'was:' .. limit, P .. 'waiting:' .. limit
  if call('ZSCORE', P .. 'blocked', limit) == '0' and call('EXISTS', waiting) == 1 then
    if call('EXISTS', was) == 1 then
      call('ZUNIONSTORE', was, 2, was, waiting)
      call('DEL', waiting)
    else
      call('RENAME', waiting, was)
    end
  end
  if show_some(was, BATCH) then
    call('ZADD', P .. 'blocked', UNDER_WAY, limit)
    more = true
  elseif call('EXISTS', waiting) == 1 then
    call('ZADD', P .. 'blocked', now + UNPARK_PAUSE_MS, limit)
  else
    call('ZREM', P .. 'blocked', limit)
  end
end
