--- Operations of pushers. Each function is one operation of engine/operations.ts.
-- Needs context: count, text, write_though_full, refuse_if_full, read_job, file, prefix, settings, call, turn;
--   room: has_no_room, note_bytes, forget_bytes, remember_key; lanes: queue_newest; lifecycle: status_of, worker_of,
--   tell, detach, read_handled, ENDED
-- Gives is_kept, ops; operations enqueue, read, cancel

local ops = {}

--- Above so many keys, a further one is stored only as long as a client may retry.
local SOON_MS = 60000

--[[
  A new job. `found_with` is the version of the constraints whose limits are given, separated by commas. `key`
  is a digest of its Idempotency-Key, or ''; `print` one of what was asked with it.
  Returns 'created' and its id, which is the first one's for a key that is known; 'reused' when the key came with
  something else; 'stale' when the constraints have changed; 'full'.
]]
function ops.enqueue(suffix, name, argument, priority, max_retry, keep, timeout, found_with, limits, key, print)
  local known = key ~= '' and call('GET', prefix .. 'key:' .. key)
  if known then
    local first, of = string.match(known, '^(%S+) (%S+)$')
    return of == print and { 'created', first } or { 'reused' }
  end
  refuse_if_full()
  if found_with ~= turn.version then return { 'stale' } end
  local waiting = turn.waiting or call('ZCARD', prefix .. 'status:queued') + call('ZCARD', prefix .. 'status:retrying')
  if waiting >= settings.max_queued or has_no_room(#argument) then return { 'full' } end
  -- Of one width, so that ids sort by age.
  local id = string.format('%012x', call('INCR', prefix .. 'ids')) .. '-' .. suffix
  local lane = turn.version .. '|' .. limits .. '|' .. name
  call('HSET', prefix .. 'job:' .. id, 'name', name, 'argument', argument, 'priority', priority, 'max_retry', max_retry,
    'keep', keep, 'timeout', timeout, 'lane', lane, 'state', 'queued', 'enqueued', text(turn.now))
  note_bytes(id, #argument)
  if not turn.listed_names[name] and call('EXISTS', prefix .. 'status:queued:' .. name) == 0 then
    call('ZADD', prefix .. 'names', turn.now, name)
  end
  turn.listed_names[name] = true
  file(id, name, nil, 'queued')
  turn.waiting = waiting + 1
  queue_newest(id, lane, priority)
  if key ~= '' then
    call('SET', prefix .. 'key:' .. key, id .. ' ' .. print, 'PX', remember_key() and settings.forget_key or SOON_MS)
  end
  count('enqueued')
  return { 'created', id }
end

--- Whether a result is still kept: some time after its first read, or longer if it was not read.
local function is_kept(job)
  if job.keep ~= '1' then return false end
  if job.read then return turn.now < job.read + settings.read_result end
  return turn.now < job.ended + settings.unread_result
end

--[[
  A job as its pusher sees it. `mode` 'read': reading a result for the first time begins the end of it; 'wait': its
  end will also be published on the channel "ended"; 'peek': nothing changes.
  Returns status, worker, begun, message, error, result ('' for what is not there), or 'missing'.
]]
function ops.read(id, mode)
  local job = read_job(id, 'state', 'failures', 'worker', 'ran', 'begun', 'keep', 'ended', 'read', 'message', 'error')
  if not job or (job.ended and turn.now >= job.ended + settings.tombstone) then return { 'missing' } end
  if mode == 'wait' and not ENDED[job.state] then
    write_though_full()
    call('HSET', prefix .. 'job:' .. id, 'awaited', 1)
  end
  local result
  if job.state == 'done' and is_kept(job) then
    result = call('HGET', prefix .. 'job:' .. id, 'result')
    if not job.read and mode ~= 'peek' then
      write_though_full()
      call('HSET', prefix .. 'job:' .. id, 'read', text(turn.now))
      call('ZADD', prefix .. 'results', turn.now + settings.read_result, id)
    end
  end
  return {
    status_of(job), worker_of(job), job.begun or '0',
    job.message and 'm' .. job.message or '', job.error or '', result or '',
  }
end

--- Cancels a job that no worker ever had: 'cancelled', 'missing' or 'conflict'.
function ops.cancel(id)
  local job = read_handled(id)
  if not job then return 'missing' end
  if job.state ~= 'queued' or tonumber(job.begun or 0) > 0 or (job.open or '') ~= '' then return 'conflict' end
  detach(id, job)
  file(id, job.name, 'queued', nil)
  forget_bytes(id)
  call('DEL', prefix .. 'job:' .. id)
  if job.awaited then tell(id) end
  count('cancelled')
  return 'cancelled'
end
