--[=[
  Depends(0, jid, (on, jid…) | (off, (all | jid…)))

  Returns 1, or nil where the job does not depend on any.
]=]
-- include prefix
-- include left-over
-- include time
-- include job-time
expect_keys(0, 'Depends')
local now, args = time_of(ARGV[1]), ARGV
-- include verbs/depends
