-- include quote
--- An event for everybody ('log') or for one worker ('w:' and its name).
local function say(channel, text) redis.call('PUBLISH', ql .. channel, text) end

--- An event of a job that is tracked.
local function tell(kind, jid) redis.call('PUBLISH', ql .. kind, jid) end
