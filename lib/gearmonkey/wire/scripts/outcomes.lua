--- Functions that write outcomes. They use `keys`, `now`, `stamp`, `expiry` and `fields` of the script.

--- Gives a job that no queue can take a new lease: it stays busy until that expires, and is then recovered.
local function keep(id, token)
  pcall('ZADD', keys.leases, expiry, id .. ':' .. token)
end

--- Schedules a job again: after a failed attempt, or without one if `failure` is ''.
local function run_later(id, token, wait, failure)
  local job = fields(id, 'attempts', 'snoozes')
  if not job[1] then return false end
  local changes = { 'error:' .. job[1], failure }
  if failure == '' then
    changes = { 'attempts', math.max(0, count(job[1]) - 1), 'snoozes', count(job[2]) + 1 }
  end
  local queued = pcall('ZADD', keys.scheduled, string.format('%.3f', (now + wait) / 1000), id)
  if type(queued) == 'number' then
    call('HSET', keys.jobs .. id, 'status', 'idle', 'settled', token, unpack(changes))
  else
    call('HSET', keys.jobs .. id, unpack(changes))
    keep(id, token)
  end
  return true
end

local function release(id, token)
  local job = fields(id, 'attempts', 'queue')
  if not job[1] then return false end
  local attempts = math.max(0, count(job[1]) - 1)
  if not requeue(keys, id, job[2], 'attempts', attempts, 'settled', token) then keep(id, token) end
  return true
end

local function accept(id, token, status, output, detail)
  if status == 'success' then return finish(keys, id, stamp, detail, token, status, output, 'settled', token) end
  if status == 'retry' or status == 'snoozed' then return run_later(id, token, output, detail) end
  if status == 'released' then return release(id, token) end
  local attempts = fields(id, 'attempts')[1] or '1'
  return finish(keys, id, stamp, '', '', status, output, 'settled', token, 'error', detail, 'error:' .. attempts, detail)
end
