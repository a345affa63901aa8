--[=[
  Heartbeat(0, jid, worker, now, [data])

  Returns when the lock expires now, or nil where the worker does not hold the job.
]=]
-- include time: expect_keys, time_at

expect_keys(0, 'Heartbeat')
local now, args = time_at(3, 'Heartbeat'), { ARGV[1], ARGV[2], ARGV[4] }
-- inline commands/heartbeat
