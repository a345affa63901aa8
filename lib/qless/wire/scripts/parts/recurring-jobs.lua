-- include limits: JOBS_A_CALL
-- include arguments: strings
-- include chunks: in_chunks
-- include history: append_history, history_item
-- include tags: add_tag
-- include deferred-work: has_deferred
-- include wake-ups: wake
-- include rights: require_rights

--- The next run of a recurring job, past what its backlog leaves out.
local function next_run(score, now, interval, backlog)
  local missed = (now - score) / interval
  if backlog == 0 or missed <= backlog then return score end
  return score + math.ceil(missed - backlog) * interval
end

local function spawn_child(recurring, jid, child, queue, when, now)
  if has_deferred then redis.call('SREM', prefix .. 'cancelling', child) end
  local klass, data, priority, tags, retries = unpack(recurring)
  redis.call('HSET', prefix .. 'j:' .. child, 'jid', child, 'klass', klass, 'data', data, 'priority', priority, 'tags',
    tags, 'state', 'waiting', 'worker', '', 'expires', 0, 'queue', queue, 'retries', retries, 'remaining', retries,
    'time', when, 'spawned_from_jid', jid)
  append_history(child, history_item(when, 'put', { q = queue }))
  if tags ~= '[]' and tags ~= '{}' then
    for _, tag in ipairs(strings(tags) or {}) do add_tag(child, tag, now) end
  end
end

--- Creates up to `limit` children of the recurring job. Returns how many.
local function spawn_children(jid, queue, score, now, limit)
  local key = prefix .. 'r:' .. jid
  local recurring = redis.call('HMGET', key, 'klass', 'data', 'priority', 'tags', 'retries', 'interval', 'backlog', 'count')
  local interval = tonumber(recurring[6])
  if not interval or interval <= 0 then
    redis.log(redis.LOG_WARNING, 'qless: recurring job ' .. jid .. ' of queue ' .. queue .. ' has no hash')
    redis.call('ZREM', prefix .. 'q:' .. queue .. '-recur', jid)
    return 0
  end
  -- Runs are at whole seconds, unless the interval isn't whole: then runs within one second would be repeated.
  if interval % 1 == 0 then score = math.floor(score) end
  score = next_run(score, now, interval, tonumber(recurring[7]) or 0)
  local count, spawned, scores = tonumber(recurring[8]) or 0, 0, {}
  local passed = 0
  while score <= now and spawned < limit and passed < JOBS_A_CALL do
    count = count + 1
    local child = jid .. '-' .. string.format('%.0f', count)
    if redis.call('EXISTS', prefix .. 'j:' .. child) == 1 then
      -- Left by an earlier recurring job of that jid, or put by a client.
      passed = passed + 1
    else
      spawn_child(recurring, jid, child, queue, score, now)
      spawned = spawned + 1
      scores[2 * spawned - 1], scores[2 * spawned] = recurring[3] - score / 10000000000, child
      score = score + interval
    end
  end
  redis.call('ZADD', prefix .. 'q:' .. queue .. '-recur', score, jid)
  redis.call('HSET', key, 'count', count)
  if spawned == 0 then return 0 end
  in_chunks('ZADD', prefix .. 'q:' .. queue .. '-work', scores)
  wake(queue, spawned)
  return spawned
end

--- Children of the queue's recurring jobs that are due, up to `limit`.
local function spawn_due(queue, now, limit)
  if limit <= 0 then return end
  local due = redis.call('ZRANGEBYSCORE', prefix .. 'q:' .. queue .. '-recur', '-inf', now, 'WITHSCORES', 'LIMIT', 0, limit)
  if #due > 0 then require_rights('EXISTS', 'HGET', 'HMGET', 'HSET', 'RPUSH', 'SREM', 'ZADD', 'ZINCRBY', 'ZREM') end
  for i = 1, #due, 2 do
    if limit <= 0 then return end
    limit = limit - spawn_children(due[i], queue, tonumber(due[i + 1]), now, limit)
  end
end
