--[=[
  Queues(0, now, [queue])

  Returns JSON.
]=]
-- include time: expect_keys, time_at

expect_keys(0, 'Queues')
local now, args = time_at(1, 'Queues'), { ARGV[2] }
-- inline commands/queues
