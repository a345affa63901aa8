--[=[
  Config(0, (get, [option]) | (set, option, value) | (unset, option))
]=]
-- include time: expect_keys

expect_keys(0, 'Config')
local command = table.remove(ARGV, 1)
local args = ARGV
if command == 'get' then
  -- inline commands/config.get
elseif command == 'set' then
  -- inline commands/config.set
elseif command == 'unset' then
  -- inline commands/config.unset
else
  error('Config(): Unrecognized command ' .. tostring(command))
end
