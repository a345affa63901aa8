local function is_tracked(jid) return noted and redis.call('ZSCORE', ql .. 'tracked', jid) ~= false end
