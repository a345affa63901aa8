--[=[
  Peek(1, queue, count, now)

  Returns a list of jobs, each JSON.
]=]
-- include prefix
-- include left-over
-- include time
expect_keys(1, 'Peek')
local now, args = time_at(2, 'Peek'), { KEYS[1], ARGV[1] }
-- include verbs/peek
