--- Publishes an event to all ('log') or to one worker ('w:' and its name). News stop no call: without the right to a
--- channel they are left out.
local function publish(channel, event) redis.pcall('PUBLISH', prefix .. channel, cjson.encode(event)) end
