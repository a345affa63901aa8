--[=[
  Peek(1, queue, count, now)

  Returns a list of jobs, each JSON.
]=]
-- include time: expect_keys, time_at

expect_keys(1, 'Peek')
local now, args = time_at(2, 'Peek'), { KEYS[1], ARGV[1] }
-- inline commands/peek
