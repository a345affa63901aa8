--[=[
  Heartbeat(0, jid, worker, now, [data])

  Returns when the lock expires now, or nil where the worker has not the job.
]=]
-- include prefix
-- include left-over
-- include time
expect_keys(0, 'Heartbeat')
local now, args = time_at(3, 'Heartbeat'), { ARGV[1], ARGV[2], ARGV[4] }
-- include verbs/heartbeat
