--[[
  Removes entries from the lists of ended jobs: of jobs that have expired, and of more jobs than are kept, which it deletes.
  Also removes retries that are due.

  KEYS five per function: prefix of the job hashes, its lists success, failed and cancelled, retries
  ARGV[1] now in ms, or ''   ARGV[2] most entries that are removed of each list
  ARGV[3…] four per function: ms for which jobs are kept that succeeded, and that ended as errors; how many of each, or ''
  Returns 1 if there may be more, else 0.

  The lists expire an hour after their last entry may be shown, in case that no worker trims them any more. A list whose jobs
  are kept for longer than 25 hours says so to its readers: the score of the member '' is this time in ms, below 0.
]]
-- include calls: try
-- include clock: clock
-- include refusals: refusal_of

local now, step = clock(ARGV[1]), tonumber(ARGV[2])
local DEFAULT_MS = 90000000
--- Those who wait for a job may read it for so long after its end.
local GRACE_MS = 5000
--- Seconds for which one is kept that had to outlive its list.
local SHORTLY = '60'
local more = 0

local function text(number) return string.format('%.0f', number) end

local function drop(key, members)
  try('ZREM', key, unpack(members))
  if #members == step then more = 1 end
end

local function drop_older(key, time)
  local old = try('ZRANGEBYSCORE', key, '0', text(time), 'LIMIT', '0', ARGV[2])
  if not old.err and #old > 0 then drop(key, old) end
end

--- Whether settle-flows.lua has something to do for a job.
local function is_member(jobs, id)
  return try('ZSCORE', 'queue:' .. string.sub(jobs, #'job:' + 1, -2) .. ':flows', id)
end

--- Deletes the oldest of the `length` jobs of a list beyond `most`, unless they have been retried or ended just now.
local function drop_beyond(key, jobs, length, most)
  if length <= most then return end
  local first = text(math.min(length - most, step))
  local old = try('ZRANGEBYSCORE', key, '0', text(now - GRACE_MS), 'WITHSCORES', 'LIMIT', '0', first)
  if old.err or #old == 0 then return end
  local members = {}
  for i = 1, #old, 2 do
    local id = old[i]
    local job = try('HMGET', jobs .. id, 'status', 'finished', 'held', 'kept')
    local has_ended = not job.err and (job[1] == 'success' or job[1] == 'error')
    -- Jobs that have not ended may still read the output of one that they waited for, and have to learn of its end.
    local is_free = has_ended and (tonumber(job[3] or '0') or 0) <= 0 and not (job[4] and is_member(jobs, id))
    if has_ended and tonumber(job[2]) == tonumber(old[i + 1]) then
      local key = jobs .. id
      if is_free then
        try('DEL', key, key .. ':output', key .. ':log', key .. ':children', key .. ':parents')
      else
        -- It is in no list from now on, and expires soon after those that may read it have ended.
        try('HSET', key, 'kept', SHORTLY)
      end
    end
    members[#members + 1] = id
  end
  drop(key, members)
end

local function trim(key, jobs, kept, most)
  local is_long, length = kept > DEFAULT_MS, try('ZCARD', key)
  if type(length) ~= 'number' or length == 0 then return end
  if is_long then try('ZADD', key, text(-kept), '') else try('ZREM', key, '') end
  drop_older(key, now - kept)
  if most then drop_beyond(key, jobs, try('ZCARD', key) - (is_long and 1 or 0), most) end
  try('EXPIRE', key, text(kept / 1000 + 3600))
end

--- Whether the user may not write all that this needs: entries would be removed of jobs that stay.
local function is_refused(jobs, list, retries)
  return refusal_of('HMGET HSET DEL', jobs .. 'x') or refusal_of('ZADD ZREM ZRANGEBYSCORE ZCARD EXPIRE', list)
    or refusal_of('ZSCORE', 'queue:' .. string.sub(jobs, #'job:' + 1) .. 'flows') or refusal_of('ZREM ZRANGEBYSCORE', retries)
end

local function tend(i)
  local rule = 3 + (i - 1) / 5 * 4
  for list = 1, 3 do
    local kind = list == 1 and 0 or 1
    trim(KEYS[i + list], KEYS[i], tonumber(ARGV[rule + kind]), tonumber(ARGV[rule + 2 + kind]))
  end
  drop_older(KEYS[i + 4], now)
end

for i = 1, #KEYS, 5 do
  if not is_refused(KEYS[i], KEYS[i + 1], KEYS[i + 4]) then tend(i) end
end
return more
