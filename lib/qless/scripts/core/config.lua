--- A number from the configuration.
local function setting(option, default)
  return tonumber(redis.call('HGET', ql .. 'config', option)) or default
end
