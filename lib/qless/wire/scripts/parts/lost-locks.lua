-- include events: publish

local function lock_lost(jid, worker)
  local event = { jid = jid, event = 'lock_lost', worker = worker }
  publish('w:' .. worker, event)
  publish('log', event)
end
