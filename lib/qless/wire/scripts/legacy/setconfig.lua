--[=[
  SetConfig(0, option, [value])

  Without a value the option has its default again. Returns nil.
]=]
-- include prefix
-- include left-over
-- include time
expect_keys(0, 'SetConfig')
local args = ARGV
if args[2] then
  -- include verbs/config.set
else
  -- include verbs/config.unset
end
