--- The first generation had no such events.
local function publish() end
local function publish_job() end

--- An event of a job that is tracked.
local function publish_tracked(kind, jid) redis.call('PUBLISH', kind, jid) end
