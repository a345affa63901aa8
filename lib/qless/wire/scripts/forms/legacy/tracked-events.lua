--- Publishes that this happened to a tracked job: in the first generation channels had no prefix.
local function publish_tracked(kind, jid) redis.call('PUBLISH', kind, jid) end
