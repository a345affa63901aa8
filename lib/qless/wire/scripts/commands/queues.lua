--[=[
  queues <now> [queue]

  Returns {name, waiting, stalled, running, scheduled, depends, recurring, paused} as JSON, or a list of them for every
  queue. Scheduled jobs that are due count as waiting; up to 250 of them become waiting.
]=]
-- include limits: JOBS_A_CALL
-- include scheduled-jobs: promote_due

local left = JOBS_A_CALL

local function counts(name)
  local key = prefix .. 'q:' .. name
  local due = redis.call('ZCOUNT', key .. '-scheduled', '-inf', now)
  local moved = math.min(due, left)
  promote_due(name, now, moved)
  left, due = left - moved, due - moved
  local stalled = redis.call('ZCOUNT', key .. '-locks', '-inf', now)
  return {
    name = name,
    waiting = redis.call('ZCARD', key .. '-work') + due,
    stalled = stalled,
    running = redis.call('ZCARD', key .. '-locks') - stalled,
    scheduled = redis.call('ZCARD', key .. '-scheduled') - due,
    depends = redis.call('ZCARD', key .. '-depends'),
    recurring = redis.call('ZCARD', key .. '-recur'),
    paused = redis.call('SISMEMBER', prefix .. 'paused_queues', name) == 1,
  }
end

if args[1] then return cjson.encode(counts(args[1])) end
local all = redis.call('ZRANGE', prefix .. 'queues', 0, -1)
for i, name in ipairs(all) do all[i] = counts(name) end
return cjson.encode(all)
