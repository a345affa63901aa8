--[[
  Constraints, changed at run time.

  constraints          id -> JSON, as constraints/read-constraint.ts made it
  constraints-version  grows whenever jobs may fall under other limits than before
]]

--- All lanes that wait are to be looked at anew.
local function recheck()
  if call('EXISTS', P .. 'blocked') == 1 then
    call('ZUNIONSTORE', P .. 'blocked', 1, P .. 'blocked', 'WEIGHTS', 0)
  end
  call('PUBLISH', P .. 'constraints', '')
  more = true
end

--[[
  Writes a constraint; a number that does not apply is ''. `known` '1': only if there is one. `selects` is what says
  which jobs fall under it, and together with which: jobs are matched anew where it differs from what was there.
  Returns 1, or 0 when there is none to change or there are too many.
]]
function ops.put_constraint(id, json, concurrency, count, period, known, selects)
  refuse_if_full()
  local exists = call('HEXISTS', P .. 'constraints', id) == 1
  if known == '1' and not exists then return 0 end
  if not exists and call('HLEN', P .. 'constraints') >= settings.max_constraints then return 0 end
  call('HSET', P .. 'constraints', id, json)
  for name, value in pairs({ concurrency = concurrency, count = count, period = period }) do
    if value == '' then
      call('HDEL', P .. 'limits', id .. ':' .. name)
    else
      call('HSET', P .. 'limits', id .. ':' .. name, value)
    end
  end
  if call('HGET', P .. 'limits', id .. ':selects') ~= selects then
    call('HSET', P .. 'limits', id .. ':selects', selects)
    version = tostring(call('INCR', P .. 'constraints-version'))
  end
  recheck()
  return 1
end

--- Jobs that were found to fall under it need no second look: what it limits no more is free.
function ops.remove_constraint(id)
  if call('HDEL', P .. 'constraints', id) == 0 then return 0 end
  call('HDEL', P .. 'limits', id .. ':concurrency', id .. ':count', id .. ':period',
    id .. ':selects')
  recheck()
  return 1
end

--- The version, and id and JSON of each, unless it is the version that is `known`.
function ops.constraints(known)
  if known == version then return { version } end
  return { version, call('HGETALL', P .. 'constraints') }
end

--- A job that waits in a lane found with older constraints goes to where it belongs now.
function ops.reassign_lane(id, lane, found_with, limits)
  if found_with ~= version or not call('ZSCORE', P .. 'ready:' .. lane, id) then return 0 end
  local job = read_job(id, 'priority')
  unqueue(id, lane)
  if not job then return 0 end
  local new = version .. '|' .. limits .. '|' .. job.name
  call('HSET', P .. 'job:' .. id, 'lane', new)
  queue(id, new, job.priority)
  return 1
end
