--[[
  A limit is a constraint, or "constraint=value" where it holds for each value on its own.

  limits        "constraint:concurrency", "constraint:count", "constraint:period" (ms)
  holds:LIMIT   jobs that are handed out under it
  starts:LIMIT  "job:attempt" by the time it was handed out, as far back as the period
  uncounted     jobs that are handed out, but not counted yet under the present constraints
]]
-- Needs context: text, prefix, call, turn; lanes: limits_of, unpark
-- Gives blocked_until, hold, let_go, recount

local RECHECK_MS = 1000

local function rules_of(limit)
  local id = string.match(limit, '^[^=]+')
  local rules = call('HMGET', prefix .. 'limits', id .. ':concurrency', id .. ':count', id .. ':period')
  return tonumber(rules[1] or nil), tonumber(rules[2] or nil), tonumber(rules[3] or nil)
end

--- When to check again, or nil if the limit allows one more.
local function blocked_until(limit)
  local concurrency, count, period = rules_of(limit)
  if concurrency and call('SCARD', prefix .. 'holds:' .. limit) >= concurrency then return turn.now + RECHECK_MS end
  if not count then return nil end
  local starts = prefix .. 'starts:' .. limit
  call('ZREMRANGEBYSCORE', starts, '-inf', turn.now - period)
  local started = call('ZCARD', starts)
  if started < count then return nil end
  local oldest = call('ZRANGE', starts, started - count, started - count, 'WITHSCORES')
  return tonumber(oldest[2]) + period
end

--- `handed`: when the job was handed out.
local function hold(id, attempt, lane, handed)
  local limits, found_with = limits_of(lane)
  for _, limit in ipairs(limits) do
    call('SADD', prefix .. 'holds:' .. limit, id)
    local _, count, period = rules_of(limit)
    if count and handed > turn.now - period then
      call('ZADD', prefix .. 'starts:' .. limit, handed, id .. ':' .. attempt)
      call('PEXPIRE', prefix .. 'starts:' .. limit, text(period))
    end
  end
  if found_with ~= turn.version then call('ZADD', prefix .. 'uncounted', 0, id) end
end

local function let_go_of(limit, id)
  call('SREM', prefix .. 'holds:' .. limit, id)
  if call('ZSCORE', prefix .. 'blocked', limit) and not blocked_until(limit) then unpark(limit) end
end

--- `unbegun`: the job never reached a worker, so it doesn't count as a start.
local function let_go(id, attempt, lane, unbegun)
  for _, limit in ipairs(limits_of(lane)) do
    if unbegun then call('ZREM', prefix .. 'starts:' .. limit, id .. ':' .. attempt) end
    let_go_of(limit, id)
  end
end

--- Counts a job that is handed out under the limits of another lane.
local function recount(id, job, lane)
  local now_under = {}
  for _, limit in ipairs(limits_of(lane)) do now_under[limit] = true end
  hold(id, job.attempt, lane, tonumber(job.handed))
  for _, limit in ipairs(limits_of(job.lane)) do
    if not now_under[limit] then let_go_of(limit, id) end
  end
end
