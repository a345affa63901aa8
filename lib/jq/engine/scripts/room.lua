--[[
  What is kept besides jobs that wait, so that it has an end, too.

  totals         "bytes": what large arguments add up to, which stay until their job is done or forgotten
  key-counts     how many Idempotency-Keys came in each period, of those that are remembered for their whole time
]]
--- Smaller arguments are bounded by the number of jobs.
local LARGE_BYTES = 1024
local KEY_PERIODS = 24

local function has_no_room(bytes)
  if bytes < LARGE_BYTES then return false end
  return tonumber(call('HGET', P .. 'totals', 'bytes') or 0) + bytes > settings.max_queued_bytes
end

local function note_bytes(id, bytes)
  if bytes < LARGE_BYTES then return end
  call('HSET', P .. 'job:' .. id, 'bytes', bytes)
  call('HINCRBY', P .. 'totals', 'bytes', bytes)
end

--- Its argument is not kept any more.
local function forget_bytes(id)
  local bytes = call('HGET', P .. 'job:' .. id, 'bytes')
  if not bytes then return end
  call('HDEL', P .. 'job:' .. id, 'bytes')
  if call('HINCRBY', P .. 'totals', 'bytes', -bytes) <= 0 then call('DEL', P .. 'totals') end
end

local function key_period(time) return math.floor(time / math.max(1, settings.forget_key / KEY_PERIODS)) end

--- Of all periods, looked up once a turn; and those of this turn, written at its end.
local keys_known
local keys_new = 0

--- Counts one more, if that is remembered for its whole time.
local function remember_key()
  if not keys_known then
    keys_known = 0
    local counts = call('HGETALL', P .. 'key-counts')
    for i = 2, #counts, 2 do keys_known = keys_known + tonumber(counts[i]) end
  end
  if keys_known >= settings.max_keys then return false end
  keys_known = keys_known + 1
  keys_new = keys_new + 1
  return true
end

local function note_keys()
  if keys_new > 0 then call('HINCRBY', P .. 'key-counts', text(key_period(now)), keys_new) end
end
