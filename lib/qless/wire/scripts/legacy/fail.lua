--[=[
  Fail(0, jid, worker, group, message, now, [data])

  Returns the jid, or nil where the worker does not hold the job.
]=]
-- include time: expect_keys, time_at

expect_keys(0, 'Fail')
local now, args = time_at(5, 'Fail'), { ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[6] }
-- inline commands/fail
