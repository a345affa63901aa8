--[[
  Waiting jobs are in lanes. All jobs of a lane have the same name and fall under the same limits, so that
  either its best job may run or none. A lane is named "version|limit,limit…|name"; the version is that of the
  constraints it was found with.

  ready:LANE     jobs by priority. Ids grow, so of equal priority the oldest is first
  lane-heads     lane -> its best job
  heads          the best jobs of all lanes that may run, by priority: the first is the next to be handed out
  waiting:LIMIT  the best jobs of lanes that wait for this limit, by priority
  places         lane -> the limit it waits for
  blocked        limits with lanes that wait, by the time to look again
]]
local UNPARK = 16

local function limits_of(lane)
  local version, limits = string.match(lane, '^(%d+)|([^|]*)|')
  local list = {}
  for limit in string.gmatch(limits, '[^,]+') do list[#list + 1] = limit end
  return list, version
end

--- Brings the index up to date after the lane has changed.
local function reindex(lane)
  local first = call('ZRANGE', P .. 'ready:' .. lane, 0, 0, 'WITHSCORES')
  local old = call('HGET', P .. 'lane-heads', lane)
  if first[1] and first[1] == old then return end
  local limit = call('HGET', P .. 'places', lane)
  local index = limit and P .. 'waiting:' .. limit or P .. 'heads'
  if old then call('ZREM', index, old) end
  if first[1] then
    call('HSET', P .. 'lane-heads', lane, first[1])
    call('ZADD', index, first[2], first[1])
    fresh = fresh or not limit
  elseif old then
    call('HDEL', P .. 'lane-heads', lane)
    if limit then call('HDEL', P .. 'places', lane) end
  end
end

local function queue(id, lane, priority)
  call('ZADD', P .. 'ready:' .. lane, priority, id)
  reindex(lane)
end

local function unqueue(id, lane)
  if call('ZREM', P .. 'ready:' .. lane, id) == 1 then reindex(lane) end
end

--- Takes a lane out of the heads until its limit allows more, or until `again`.
local function park(lane, head, priority, limit, again)
  call('ZREM', P .. 'heads', head)
  call('ZADD', P .. 'waiting:' .. limit, priority, head)
  call('HSET', P .. 'places', lane, limit)
  call('ZADD', P .. 'blocked', again, limit)
end

--- Lets the best of the lanes that wait for a limit be seen again.
local function unpark(limit, count)
  local waiting = P .. 'waiting:' .. limit
  local heads = call('ZRANGE', waiting, 0, count - 1, 'WITHSCORES')
  for i = 1, #heads, 2 do
    local lane = call('HGET', P .. 'job:' .. heads[i], 'lane')
    call('ZREM', waiting, heads[i])
    if lane then
      call('HDEL', P .. 'places', lane)
      call('ZADD', P .. 'heads', heads[i + 1], heads[i])
      fresh = true
    end
  end
  local left = call('EXISTS', waiting) == 1
  if not left then call('ZREM', P .. 'blocked', limit) end
  return left
end
