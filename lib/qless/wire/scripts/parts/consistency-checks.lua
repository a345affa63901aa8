-- include dependents: unblock

--- The sections of consistency.check: a key, how its ids are listed, what may be wrong, and how to repair it. A repair
--- that leaves the id where it was returns 0.
local function by_rank(key, offset, count) return redis.call('ZRANGE', key, offset, offset + count - 1) end
local function by_index(key, offset, count) return redis.call('LRANGE', key, offset, offset + count - 1) end
local function remove_ranked(key, id) redis.call('ZREM', key, id) end
local function remove_listed(key, id) redis.call('LREM', key, 1, id) end

--- Jobs of a queue's set must be in one of the states, and in that queue.
local function in_states(queue, ...)
  local states = { ... }
  return function(_, jid)
    local job = redis.call('HMGET', prefix .. 'j:' .. jid, 'state', 'queue')
    if not job[1] then return 'job is gone' end
    if queue and job[2] ~= queue then return 'job is in another queue: ' .. job[2] end
    for _, state in ipairs(states) do
      if job[1] == state then return end
    end
    return 'job is ' .. job[1]
  end
end

--- A dependency that is gone or complete, except one whose dependents are being unblocked.
local function stale_dependencies(jid)
  local stale = {}
  for _, on in ipairs(redis.call('SMEMBERS', prefix .. 'j:' .. jid .. '-dependencies')) do
    local state = redis.call('HGET', prefix .. 'j:' .. on, 'state')
    local unlocking = redis.call('SISMEMBER', prefix .. 'unlocking:' .. on, jid) == 1
    if (not state or state == 'complete') and not unlocking then stale[#stale + 1] = on end
  end
  return stale
end

local function check_depends(queue)
  local placed = in_states(queue, 'depends')
  return function(key, jid)
    local misplaced = placed(key, jid)
    if misplaced then return misplaced end
    if redis.call('EXISTS', prefix .. 'j:' .. jid .. '-dependencies') == 0 then return 'job depends on nothing' end
    if #stale_dependencies(jid) > 0 then return 'job depends on one that is gone or complete' end
  end
end

local function repair_depends(key, jid)
  if redis.call('HGET', prefix .. 'j:' .. jid, 'state') ~= 'depends' then return remove_ranked(key, jid) end
  local dependencies = prefix .. 'j:' .. jid .. '-dependencies'
  for _, on in ipairs(stale_dependencies(jid)) do redis.call('SREM', dependencies, on) end
  if redis.call('EXISTS', dependencies) == 1 then return 0 end
  unblock(jid, now)
  remove_ranked(key, jid)
end

local function check_recurring(_, jid)
  if redis.call('EXISTS', prefix .. 'r:' .. jid) == 0 then return 'recurring job is gone' end
end

--- A job on a worker's list must be running there.
local function check_owned(worker)
  local running = in_states(nil, 'running')
  return function(key, jid)
    local misplaced = running(key, jid)
    if misplaced then return misplaced end
    local owner = redis.call('HGET', prefix .. 'j:' .. jid, 'worker')
    if owner ~= worker then return 'job has another worker: ' .. owner end
  end
end

local function check_tag(_, tag)
  local count, jobs = tonumber(redis.call('ZSCORE', prefix .. 'tags', tag)), redis.call('ZCARD', prefix .. 't:' .. tag)
  if count ~= jobs then return 'tag counts ' .. count .. ' jobs and has ' .. jobs end
end

local function repair_tag(_, tag)
  local jobs = redis.call('ZCARD', prefix .. 't:' .. tag)
  if jobs == 0 then return remove_ranked(prefix .. 'tags', tag) end
  redis.call('ZADD', prefix .. 'tags', jobs, tag)
  return 0
end

local function all_sections()
  local found = {}
  local function add(...) found[#found + 1] = { ... } end
  for _, queue in ipairs(redis.call('ZRANGE', prefix .. 'queues', 0, -1)) do
    local key = prefix .. 'q:' .. queue
    add(key .. '-work', by_rank, in_states(queue, 'waiting', 'stalled'), remove_ranked)
    add(key .. '-locks', by_rank, in_states(queue, 'running'), remove_ranked)
    add(key .. '-scheduled', by_rank, in_states(queue, 'scheduled'), remove_ranked)
    add(key .. '-depends', by_rank, check_depends(queue), repair_depends)
    add(key .. '-recur', by_rank, check_recurring, remove_ranked)
  end
  for _, worker in ipairs(redis.call('ZRANGE', prefix .. 'workers', 0, -1)) do
    add(prefix .. 'w:' .. worker .. ':jobs', by_rank, check_owned(worker), remove_ranked)
  end
  local groups = redis.call('SMEMBERS', prefix .. 'failures')
  table.sort(groups)
  for _, group in ipairs(groups) do add(prefix .. 'f:' .. group, by_index, in_states(nil, 'failed'), remove_listed) end
  add(prefix .. 'completed', by_rank, in_states(nil, 'complete'), remove_ranked)
  add(prefix .. 'tags', by_rank, check_tag, repair_tag)
  return found
end
