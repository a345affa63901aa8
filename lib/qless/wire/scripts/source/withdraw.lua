--[=[
  withdraw <now> waiter woken queue…

  Takes the tokens back that a waiter left who waits no more. Whoever was `woken` for a queue (or '') and has no use
  for it wakes another. Returns nil.
]=]
-- include wake-ups: wake

local waiter, woken = args[1], args[2]
for i = 3, #args do redis.call('ZREM', prefix .. 'idlers:' .. args[i], waiter) end
if woken ~= '' then wake(woken, 1) end
