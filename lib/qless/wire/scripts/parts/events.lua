--- Publishes an event to all ('log') or to one worker ('w:' and its name).
local function publish(channel, event) redis.call('PUBLISH', prefix .. channel, cjson.encode(event)) end
