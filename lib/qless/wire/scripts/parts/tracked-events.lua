--- Publishes that this happened to a tracked job.
local function publish_tracked(kind, jid) redis.pcall('PUBLISH', prefix .. kind, jid) end
