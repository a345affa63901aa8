--[=[
  config.get <now> [option]

  Returns an option's value, its default, or nil; without an option all of them as JSON. Numbers are defaults; a
  value that was set is a string.
]=]
local defaults = {
  ['application'] = 'qless',
  ['heartbeat'] = 60,
  ['grace-period'] = 10,
  ['stats-history'] = 30,
  ['histogram-history'] = 7,
  ['jobs-history-count'] = 50000,
  ['jobs-history'] = 604800,
}
if args[1] then return redis.call('HGET', prefix .. 'config', args[1]) or defaults[args[1]] end
local stored = redis.call('HGETALL', prefix .. 'config')
for i = 1, #stored, 2 do defaults[stored[i]] = stored[i + 1] end
return cjson.encode(defaults)
