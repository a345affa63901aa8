-- include deferred-work: may_be_tracked

local function is_tracked(jid) return may_be_tracked and type(redis.pcall('ZSCORE', prefix .. 'tracked', jid)) == 'string' end
