-- include events: publish
-- include json: quote

local function lock_lost(jid, worker)
  local text = '{"jid":' .. quote(jid) .. ',"event":"lock_lost","worker":' .. quote(worker) .. '}'
  publish('w:' .. worker, text)
  publish('log', text)
end
