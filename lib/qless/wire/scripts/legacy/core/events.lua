-- include quote
--- The first generation had no such events.
local function say() end

--- An event of a job that is tracked.
local function tell(kind, jid) redis.call('PUBLISH', kind, jid) end
