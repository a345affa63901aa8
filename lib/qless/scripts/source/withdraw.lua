--[=[
  withdraw <now> woken queue…

  Takes the tokens back that somebody left who waits no more. Whoever was `woken` for a queue (or '') and has no use
  for it wakes another. Returns nil.
]=]
-- include waiting
local woken = args[1]
for i = 2, #args do withdraw(args[i]) end
if woken ~= '' then wake(woken, 1) end
