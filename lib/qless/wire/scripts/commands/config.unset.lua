--[=[
  config.unset <now> option

  Resets the option to its default. Returns nil.
]=]
-- include events: publish

local option = args[1]
if not option then error('config.unset(): Arg "option" missing') end
publish('log', { event = 'config_unset', option = option })
redis.call('HDEL', prefix .. 'config', option)
