--[=[
  Depends(0, jid, (on, jid…) | (off, (all | jid…)))

  Returns 1, or nil where the job does not depend on any.
]=]
-- include time: expect_keys
-- include job-time: time_of

expect_keys(0, 'Depends')
local now, args = time_of(ARGV[1]), ARGV
-- inline commands/depends
