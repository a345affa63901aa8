--[=[
  Pop(1, queue, worker, count, now)

  Returns a list of jobs, each JSON.
]=]
-- include time: expect_keys, time_at

expect_keys(1, 'Pop')
local now, args = time_at(3, 'Pop'), { KEYS[1], ARGV[1], ARGV[2] }
-- inline commands/pop
