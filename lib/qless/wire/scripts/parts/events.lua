-- include json: quote

--- Publishes an event to all ('log') or to one worker ('w:' and its name).
local function publish(channel, event) redis.call('PUBLISH', prefix .. channel, cjson.encode(event)) end

--- Publishes what happened to a job in its queue. By hand: a table costs put 3 %.
local function publish_job(event, jid, queue)
  redis.call('PUBLISH', prefix .. 'log',
    '{"jid":' .. quote(jid) .. ',"event":"' .. event .. '","queue":' .. quote(queue) .. '}')
end

--- Publishes that this happened to a tracked job.
local function publish_tracked(kind, jid) redis.call('PUBLISH', prefix .. kind, jid) end
