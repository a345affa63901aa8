--[=[
  Config(0, (get, [option]) | (set, option, value) | (unset, option))
]=]
-- include prefix
-- include left-over
-- include time
expect_keys(0, 'Config')
local command = table.remove(ARGV, 1)
local args = ARGV
if command == 'get' then
  -- include verbs/config.get
elseif command == 'set' then
  -- include verbs/config.set
elseif command == 'unset' then
  -- include verbs/config.unset
else
  error('Config(): Unrecognized command ' .. tostring(command))
end
