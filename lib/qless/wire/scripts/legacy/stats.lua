--[=[
  Stats(0, queue, date)

  Returns JSON.
]=]
-- include prefix
-- include left-over
-- include time
expect_keys(0, 'Stats')
local args = ARGV
-- include verbs/stats
