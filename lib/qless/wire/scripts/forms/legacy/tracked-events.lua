--- Publishes that this happened to a tracked job: in the first generation channels had no prefix.
local function publish_tracked(kind, jid) redis.pcall('PUBLISH', kind, jid) end
