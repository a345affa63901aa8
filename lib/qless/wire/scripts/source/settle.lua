--[=[
  settle <now> worker (kind jid token a b c)…

  Ends claims, each with what its kind says:
    complete                      with its data unchanged; a, if not '', is added to the history as its output
    fail      group message
    retry     delay group message
    release                       to the front of its priority, without spending a retry
  A claim is identified by the time `token` at which the worker popped the job.
  Returns 1 or 0 for each: 0 when the worker had lost the job. One that was settled before is 1 again. A call ends
  after a job whose completion was much work: send again what the reply doesn't cover.
]=]
-- includes of commands/complete, commands/fail, commands/retry
-- include history: append_history, history_item
-- include time-text: now_text
-- include claims: read_claim
-- include wake-ups: wake
-- include rights: require_rights
-- include unblocking-rights: require_rights_to_unblock

local worker = args[1]

local function complete(args)
  -- inline commands/complete
end

local function fail(args)
  -- inline commands/fail
end

local function retry(args)
  -- inline commands/retry
end

--- A second before the first job of its priority: the time orders jobs of one priority.
local function front(queue, priority)
  local first = redis.call('ZREVRANGEBYSCORE', prefix .. 'q:' .. queue .. '-work', priority, '(' .. (priority - 1),
    'WITHSCORES', 'LIMIT', 0, 1)
  if not first[2] then return priority - now / 10000000000 end
  return math.min(priority, first[2] + 1 / 10000000000)
end

local function give_back(jid, queue)
  require_rights('HDEL', 'HGET', 'HSET', 'RPUSH', 'ZADD', 'ZREM', 'ZREVRANGEBYSCORE')
  local key = prefix .. 'j:' .. jid
  redis.call('ZREM', prefix .. 'q:' .. queue .. '-locks', jid)
  redis.call('ZREM', prefix .. 'w:' .. worker .. ':jobs', jid)
  redis.call('HSET', key, 'state', 'waiting', 'worker', '', 'expires', 0, 'time', now_text)
  redis.call('HDEL', key, 'grace')
  append_history(jid, history_item(now, 'released'))
  redis.call('ZADD', prefix .. 'q:' .. queue .. '-work', front(queue, tonumber(redis.call('HGET', key, 'priority')) or 0), jid)
  wake(queue, 1)
end

--- Whether jobs depended on it, or more than one older complete job was deleted.
local function complete_one(jid, queue, data, output)
  local much = redis.call('EXISTS', prefix .. 'j:' .. jid .. '-dependents', prefix .. 'unlocking') > 0
  local before = redis.call('ZCARD', prefix .. 'completed')
  if much then require_rights_to_unblock() end
  if output ~= '' then
    -- What follows needs these as well, and the item would be added each time that the call is sent again.
    require_rights('HGET', 'HSET', 'ZADD', 'ZREM')
    append_history(jid, history_item(now, 'returned', { output = output }))
  end
  complete({ jid, worker, queue, data })
  return much or redis.call('ZCARD', prefix .. 'completed') < before
end

local accepted = {}
for i = 2, #args, 6 do
  local kind, jid, token, a, b, c = unpack(args, i, i + 5)
  local held, queue, data = read_claim(jid, worker, token)
  local key, much = prefix .. 'j:' .. jid, false
  if held then
    if kind == 'complete' then
      much = complete_one(jid, queue, data, a)
    elseif kind == 'fail' then
      fail({ jid, worker, a, b })
    elseif kind == 'retry' then
      retry({ jid, queue, worker, a, b, c })
    else
      give_back(jid, queue)
    end
    -- Not before: each of these refuses a user without rights. The job may be forgotten by now.
    if redis.call('EXISTS', key) == 1 then redis.call('HSET', key, 'settled', token) end
  end
  local again = not held and tonumber(redis.call('HGET', key, 'settled') or '') == tonumber(token)
  accepted[#accepted + 1] = (held or again) and 1 or 0
  if much then break end
end
return accepted
