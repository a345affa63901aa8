--- What calls with very many jids leave to later ones: the jobs of `cancelling` are as good as gone, those of
--- `stalling` as good as stalled.
-- Mostly there is none, and nothing is tracked: one look for both.
local may_be_tracked = redis.call('EXISTS', prefix .. 'cancelling', prefix .. 'stalling', prefix .. 'tracked') > 0
local has_deferred = may_be_tracked and redis.call('EXISTS', prefix .. 'cancelling', prefix .. 'stalling') > 0

--- Finishes it for those of the list, and for others until there are so many.
local function finish_deferred(jids, others)
  -- include deferred-batch: stall_deferred, cancel_deferred -- at the head +17 % of put, +30 % of heartbeat
  stall_deferred(jids, others)
  cancel_deferred(jids, others)
end

local function is_cancelling(jid) return has_deferred and redis.call('SISMEMBER', prefix .. 'cancelling', jid) == 1 end

-- Whatever job the call is about, its arguments name it.
if has_deferred then finish_deferred(ARGV, 250) end
