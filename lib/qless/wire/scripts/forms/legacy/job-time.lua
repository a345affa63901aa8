--- The job's own time, for forms without one.
local function time_of(jid) return tonumber(redis.call('HGET', prefix .. 'j:' .. (jid or ''), 'time')) or 0 end
