--[=[
  Stats(0, queue, date)

  Returns JSON.
]=]
-- include time: expect_keys

expect_keys(0, 'Stats')
local args = ARGV
-- inline commands/stats
