--[=[
  Workers(0, now, [worker])

  Returns JSON.
]=]
-- include time: expect_keys, time_at

expect_keys(0, 'Workers')
local now, args = time_at(1, 'Workers'), { ARGV[2] }
-- inline commands/workers
