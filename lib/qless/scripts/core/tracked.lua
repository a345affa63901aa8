local function is_tracked(jid) return redis.call('ZSCORE', ql .. 'tracked', jid) ~= false end
