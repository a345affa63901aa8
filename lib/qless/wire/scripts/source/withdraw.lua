--[=[
  withdraw <now> waiter woken queue…

  Takes back the tokens of a waiter that waits no longer. If it was `woken` for a queue (or '') and has no use for that,
  another waiter is woken. Returns nil.
]=]
-- include wake-ups: wake

local waiter, woken = args[1], args[2]
for i = 3, #args do redis.call('ZREM', prefix .. 'idlers:' .. args[i], waiter) end
if woken ~= '' then wake(woken, 1) end
