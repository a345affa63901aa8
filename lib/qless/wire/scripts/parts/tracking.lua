-- include deferred-work: may_be_tracked

local function is_tracked(jid) return may_be_tracked and redis.call('ZSCORE', prefix .. 'tracked', jid) ~= false end
