--[=[
  GetConfig(0, [option])

  Returns the option's value, or all options as JSON.
]=]
-- include time: expect_keys

expect_keys(0, 'GetConfig')
local args = ARGV
-- inline commands/config.get
