--[=[
  config.unset <now> option

  The option has its default again. Returns nil.
]=]
-- include events
local option = args[1]
if not option then error('config.unset(): Arg "option" missing') end
say('log', '{"event":"config_unset","option":' .. quote(option) .. '}')
redis.call('HDEL', ql .. 'config', option)
