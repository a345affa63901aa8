--[=[
  length <now> queue

  Returns how many jobs of a queue are locked, wait or are scheduled.
]=]
if not args[1] then error('Length(): Arg "queue" missing') end
local key = prefix .. 'q:' .. args[1]
return redis.call('ZCARD', key .. '-locks') + redis.call('ZCARD', key .. '-work') + redis.call('ZCARD', key .. '-scheduled')
