--[=[
  Queues(0, now, [queue])

  Returns JSON.
]=]
-- include prefix
-- include left-over
-- include time
expect_keys(0, 'Queues')
local now, args = time_at(1, 'Queues'), { ARGV[2] }
-- include verbs/queues
