--[[
  Constraints, changed at run time.

  constraints          id -> JSON, as constraints/read-constraint.ts made it
  constraints-version  grows whenever jobs may fall under other limits than before
]]
-- Needs context: refuse_if_full, read_job, prefix, settings, call, turn; lanes: queue, unqueue; jobs:
--   ops; lifecycle: HANDED; limits: recount
-- Gives operations put_constraint, remove_constraint, constraints, reassign_lane

--- Makes all waiting lanes be checked again.
local function recheck()
  if call('EXISTS', prefix .. 'blocked') == 1 then
    call('ZUNIONSTORE', prefix .. 'blocked', 1, prefix .. 'blocked', 'WEIGHTS', 0)
  end
  redis.pcall('PUBLISH', prefix .. 'constraints', '')
  turn.more = true
end

--[[
  Writes a constraint; a number that does not apply is ''. `known` '1': only if there is one. `selects` is what says
  which jobs fall under it, and together with which: jobs are matched anew where it differs from what was there. Those
  that are handed out are counted anew, too, also where a rate differs.
  Returns 1, or 0 when there is none to change or there are too many.
]]
function ops.put_constraint(id, json, concurrency, count, period, known, selects)
  refuse_if_full()
  local exists = call('HEXISTS', prefix .. 'constraints', id) == 1
  if known == '1' and not exists then return 0 end
  if not exists and call('HLEN', prefix .. 'constraints') >= settings.max_constraints then return 0 end
  call('HSET', prefix .. 'constraints', id, json)
  local rate = call('HMGET', prefix .. 'limits', id .. ':count', id .. ':period')
  local is_counted = (rate[1] or '') == count and (rate[2] or '') == period
  for name, value in pairs({ concurrency = concurrency, count = count, period = period }) do
    if value == '' then
      call('HDEL', prefix .. 'limits', id .. ':' .. name)
    else
      call('HSET', prefix .. 'limits', id .. ':' .. name, value)
    end
  end
  if call('HGET', prefix .. 'limits', id .. ':selects') ~= selects then
    call('HSET', prefix .. 'limits', id .. ':selects', selects)
    turn.version = tostring(call('INCR', prefix .. 'constraints-version'))
    is_counted = false
  end
  if not is_counted then
    call('ZUNIONSTORE', prefix .. 'uncounted', 1, prefix .. 'deadlines')
    turn.counted = nil
  end
  recheck()
  return 1
end

--- Jobs that matched it need no new match: without it they are only less limited.
function ops.remove_constraint(id)
  if call('HDEL', prefix .. 'constraints', id) == 0 then return 0 end
  call('HDEL', prefix .. 'limits', id .. ':concurrency', id .. ':count', id .. ':period',
    id .. ':selects')
  -- Without constraints nothing is counted, and these would stay.
  if call('HLEN', prefix .. 'constraints') == 0 then
    call('DEL', prefix .. 'uncounted')
    turn.counted = true
  end
  recheck()
  return 1
end

--- The version, and id and JSON of each constraint unless `known` is the current version.
function ops.constraints(known)
  if known == turn.version then return { turn.version } end
  return { turn.version, call('HGETALL', prefix .. 'constraints') }
end

--- Moves a job from a lane of older constraints to its present lane. One that is handed out is counted in it.
function ops.reassign_lane(id, lane, found_with, limits)
  if found_with ~= turn.version then return 0 end
  local job = read_job(id, 'priority', 'state', 'lane', 'attempt', 'handed')
  local new = job and turn.version .. '|' .. limits .. '|' .. job.name
  if job and HANDED[job.state] and job.lane == lane then
    recount(id, job, new)
    call('HSET', prefix .. 'job:' .. id, 'lane', new)
    call('ZREM', prefix .. 'uncounted', id)
    return 1
  end
  if not call('ZSCORE', prefix .. 'ready:' .. lane, id) then return 0 end
  unqueue(id, lane)
  if not job then return 0 end
  call('HSET', prefix .. 'job:' .. id, 'lane', new)
  queue(id, new, job.priority)
  return 1
end
