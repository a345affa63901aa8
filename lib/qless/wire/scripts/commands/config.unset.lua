--[=[
  config.unset <now> option

  The option has its default again. Returns nil.
]=]
-- include events: publish

local option = args[1]
if not option then error('config.unset(): Arg "option" missing') end
publish('log', { event = 'config_unset', option = option })
redis.call('HDEL', prefix .. 'config', option)
