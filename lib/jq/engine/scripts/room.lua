--[[
  What is kept besides jobs that wait, so that it has an end, too.

  totals         "bytes": what large arguments add up to, which stay until their job is done or forgotten
  key-counts     how many Idempotency-Keys came in each period, of those that are remembered for their whole time
]]
-- Needs context: text, prefix, settings, call, turn
-- Gives has_no_room, note_bytes, forget_bytes, key_period, remember_key, note_keys

--- Smaller arguments are bounded by the number of jobs.
local LARGE_BYTES = 1024
local KEY_PERIODS = 24

local function has_no_room(bytes)
  if bytes < LARGE_BYTES then return false end
  return tonumber(call('HGET', prefix .. 'totals', 'bytes') or 0) + bytes > settings.max_queued_bytes
end

local function note_bytes(id, bytes)
  if bytes < LARGE_BYTES then return end
  call('HSET', prefix .. 'job:' .. id, 'bytes', bytes)
  call('HINCRBY', prefix .. 'totals', 'bytes', bytes)
end

--- Call this when an argument is no longer stored.
local function forget_bytes(id)
  local bytes = call('HGET', prefix .. 'job:' .. id, 'bytes')
  if not bytes then return end
  call('HDEL', prefix .. 'job:' .. id, 'bytes')
  if call('HINCRBY', prefix .. 'totals', 'bytes', -bytes) <= 0 then call('DEL', prefix .. 'totals') end
end

local function key_period(time) return math.floor(time / math.max(1, settings.forget_key / KEY_PERIODS)) end

--- Counts one more key, if it is stored for its whole time.
local function remember_key()
  if not turn.keys_known then
    turn.keys_known = 0
    local counts = call('HGETALL', prefix .. 'key-counts')
    for i = 2, #counts, 2 do turn.keys_known = turn.keys_known + tonumber(counts[i]) end
  end
  if turn.keys_known >= settings.max_keys then return false end
  turn.keys_known = turn.keys_known + 1
  turn.keys_new = turn.keys_new + 1
  return true
end

local function note_keys()
  if turn.keys_new > 0 then call('HINCRBY', prefix .. 'key-counts', text(key_period(turn.now)), turn.keys_new) end
end
