--- Forms without a time take that at which the job was put.
local function time_of(jid) return tonumber(redis.call('HGET', prefix .. 'j:' .. (jid or ''), 'time')) or 0 end
