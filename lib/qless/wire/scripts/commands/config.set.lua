--[=[
  config.set <now> option value

  Returns nil.
]=]
-- include events: publish

local option, value = args[1], args[2]
if not option then error('config.set(): Arg "option" missing') end
if not value then error('config.set(): Arg "value" missing') end
publish('log', { option = option, event = 'config_set', value = value })
redis.call('HSET', prefix .. 'config', option, value)
