--- An event for everybody ('log') or for one worker ('w:' and its name).
local function publish(channel, text) redis.call('PUBLISH', prefix .. channel, text) end

--- An event of a job that is tracked.
local function publish_tracked(kind, jid) redis.call('PUBLISH', prefix .. kind, jid) end
