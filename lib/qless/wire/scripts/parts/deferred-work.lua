--- Calls with very many jids leave work to later calls: jobs of `cancelling` count as deleted, those of `stalling` as
--- stalled.
-- Mostly neither exists and nothing is tracked, so one EXISTS answers for all three.
local may_be_tracked = redis.call('EXISTS', prefix .. 'cancelling', prefix .. 'stalling', prefix .. 'tracked') > 0
local has_deferred = may_be_tracked and redis.call('EXISTS', prefix .. 'cancelling', prefix .. 'stalling') > 0

--- Does that work for the jobs of the list, and for others up to so many in all.
local function finish_deferred(jids, others)
  -- include deferred-batch: stall_deferred, cancel_deferred -- at the head +17 % of put, +30 % of heartbeat
  stall_deferred(jids, others)
  cancel_deferred(jids, others)
end

local function is_cancelling(jid) return has_deferred and redis.call('SISMEMBER', prefix .. 'cancelling', jid) == 1 end

-- The arguments name whatever job this call is about.
if has_deferred then finish_deferred(ARGV, 250) end
