-- include events
local function lock_lost(jid, worker)
  local text = '{"jid":' .. quote(jid) .. ',"event":"lock_lost","worker":' .. quote(worker) .. '}'
  say('w:' .. worker, text)
  say('log', text)
end
