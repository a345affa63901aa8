-- include json: quote

--- Publishes what happened to a job in its queue. By hand: a table costs put 3 %.
local function publish_job(event, jid, queue)
  redis.pcall('PUBLISH', prefix .. 'log',
    '{"jid":' .. quote(jid) .. ',"event":"' .. event .. '","queue":' .. quote(queue) .. '}')
end
