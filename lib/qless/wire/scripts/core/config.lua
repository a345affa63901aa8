-- include number
--- A number from the configuration.
local function setting(option, default)
  return number(redis.call('HGET', ql .. 'config', option)) or default
end
