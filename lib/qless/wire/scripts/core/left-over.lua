--- What calls with very many jids leave to later ones: the jobs of `cancelling` are as good as gone, those of
--- `stalling` as good as stalled.
-- Mostly there is none, and nothing is tracked: one look for both.
local noted = redis.call('EXISTS', ql .. 'cancelling', ql .. 'stalling', ql .. 'tracked') > 0
local left_over = noted and redis.call('EXISTS', ql .. 'cancelling', ql .. 'stalling') > 0

--- Finishes it for those of the list, and for others until there are so many.
local function finish(jids, others)
  -- include finishing
  stall_some(jids, others)
  cancel_some(jids, others)
end

local function is_cancelling(jid) return left_over and redis.call('SISMEMBER', ql .. 'cancelling', jid) == 1 end

-- Whatever job the call is about, its arguments name it.
if left_over then finish(ARGV, 250) end
