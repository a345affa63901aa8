--[=[
  Workers(0, now, [worker])

  Returns JSON.
]=]
-- include prefix
-- include left-over
-- include time
expect_keys(0, 'Workers')
local now, args = time_at(1, 'Workers'), { ARGV[2] }
-- include verbs/workers
