--[=[
  config.set <now> option value

  Returns nil.
]=]
-- include events: publish
-- include json: quote

local option, value = args[1], args[2]
if not option then error('config.set(): Arg "option" missing') end
if not value then error('config.set(): Arg "value" missing') end
publish('log', '{"option":' .. quote(option) .. ',"event":"config_set","value":' .. quote(value) .. '}')
redis.call('HSET', prefix .. 'config', option, value)
