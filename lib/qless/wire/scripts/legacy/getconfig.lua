--[=[
  GetConfig(0, [option])

  Returns the option's value, or all options as JSON.
]=]
-- include prefix
-- include left-over
-- include time
expect_keys(0, 'GetConfig')
local args = ARGV
-- include verbs/config.get
