--[=[
  SetConfig(0, option, [value])

  Without a value the option has its default again. Returns nil.
]=]
-- include time: expect_keys

expect_keys(0, 'SetConfig')
local args = ARGV
if args[2] then
  -- inline commands/config.set
else
  -- inline commands/config.unset
end
