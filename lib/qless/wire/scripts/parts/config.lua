-- include number: number

--- A number from the configuration.
local function setting(option, default)
  return number(redis.call('HGET', prefix .. 'config', option)) or default
end
