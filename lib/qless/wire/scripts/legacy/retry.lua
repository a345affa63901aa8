--[=[
  Retry(0, jid, queue, worker, now, [delay])

  Returns the retries that remain, or nil where the worker does not hold the job.
]=]
-- include time: expect_keys, time_at

expect_keys(0, 'Retry')
local now, args = time_at(4, 'Retry'), { ARGV[1], ARGV[2], ARGV[3], ARGV[5] }
-- inline commands/retry
