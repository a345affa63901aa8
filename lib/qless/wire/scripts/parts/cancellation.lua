-- include arguments: strings
-- include chunks: in_chunks, unlink
-- include events: publish
-- include tracked-events: publish_tracked
-- include failure-groups: failure_of, remove_from_group
-- include tags: remove_tag
-- include counters: count_stat
-- include rights: require_rights

local SET_OF_STATE = { waiting = '-work', stalled = '-work', running = '-locks', scheduled = '-scheduled', depends = '-depends' }

--- Lists of the jobs that depend on one of these, by jid.
local function with_dependents(jids)
  local found = {}
  for from = 1, #jids, 1000 do
    local last = math.min(from + 999, #jids)
    local keys = {}
    for i = from, last do keys[#keys + 1] = prefix .. 'j:' .. jids[i] .. '-dependents' end
    if redis.call('EXISTS', unpack(keys)) > 0 then
      for i = from, last do found[jids[i]] = redis.call('SMEMBERS', keys[i - from + 1]) end
    end
  end
  return found
end

--- Publishes that a job is cancelled; takes it from its worker, its tags and its dependencies.
local function detach(jid, job, tracked)
  local queue, worker, tags = job[2] or '', job[4] or '', job[5]
  local event = { jid = jid, worker = worker, event = 'canceled', queue = queue }
  publish('log', event)
  if worker ~= '' then
    redis.call('ZREM', prefix .. 'w:' .. worker .. ':jobs', jid)
    publish('w:' .. worker, event)
  end
  if tags and tags ~= '[]' and tags ~= '{}' then
    for _, tag in ipairs(strings(tags) or {}) do remove_tag(jid, tag) end
  end
  if job[1] == 'depends' then
    for _, on in ipairs(redis.call('SMEMBERS', prefix .. 'j:' .. jid .. '-dependencies')) do
      redis.call('SREM', prefix .. 'j:' .. on .. '-dependents', jid)
    end
  end
  if tracked then publish_tracked('canceled', jid) end
end

local function append(lists, name, item)
  local list = lists[name] or {}
  lists[name] = list
  list[#list + 1] = item
end

--- Removes ids from queues and groups of failures, and deletes keys, in a few commands at the end.
local function cancel_all(jids, dependents)
  require_rights('EXISTS', 'HMGET', 'LRANGE', 'LREM', 'RPUSH', 'SMEMBERS', 'SREM', 'UNLINK', 'ZINCRBY', 'ZREM', 'ZSCORE')
  local sets, groups, counts, keys, done = {}, {}, {}, {}, {}
  local tracking = redis.call('EXISTS', prefix .. 'tracked') == 1
  for _, jid in ipairs(jids) do
    local key = prefix .. 'j:' .. jid
    local job = redis.call('HMGET', key, 'state', 'queue', 'failure', 'worker', 'tags')
    local state, queue = job[1], job[2]
    if state and state ~= 'complete' and not done[jid] then
      done[jid] = true
      detach(jid, job, tracking and redis.call('ZSCORE', prefix .. 'tracked', jid) ~= false)
      if SET_OF_STATE[state] then append(sets, prefix .. 'q:' .. queue .. SET_OF_STATE[state], jid) end
      if state == 'failed' then
        local group, when = failure_of(job[3])
        if group then
          append(groups, group, jid)
          counts[queue] = counts[queue] or {}
          local day = when - when % 86400
          counts[queue][day] = (counts[queue][day] or 0) + 1
        end
      end
      keys[#keys + 1], keys[#keys + 2] = key, key .. '-history'
      if state == 'depends' then keys[#keys + 1] = key .. '-dependencies' end
      if dependents[jid] then keys[#keys + 1] = key .. '-dependents' end
    end
  end
  for set, members in pairs(sets) do in_chunks('ZREM', set, members) end
  for group, members in pairs(groups) do remove_from_group(group, members) end
  for queue, days in pairs(counts) do
    for day, count in pairs(days) do count_stat(queue, day, 'failed', -count) end
  end
  unlink(keys)
end

--- Leaves the jobs to later calls. Not those that are complete or don't exist: a job put later under such a jid would be
--- deleted.
local function defer_cancellation(jids)
  for from = 1, #jids, 1000 do
    local part, left, keys = { unpack(jids, from, math.min(from + 999, #jids)) }, {}, {}
    for i, jid in ipairs(part) do keys[i] = prefix .. 'j:' .. jid end
    local all = redis.call('EXISTS', unpack(keys)) == #keys
    for i, completed in ipairs(redis.call('ZMSCORE', prefix .. 'completed', unpack(part))) do
      if not completed and (all or redis.call('EXISTS', keys[i]) == 1) then left[#left + 1] = part[i] end
    end
    in_chunks('SADD', prefix .. 'cancelling', left)
  end
end
