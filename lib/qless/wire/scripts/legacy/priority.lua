--[=[
  Priority(0, jid, priority)

  Returns the priority, or nil where there is no job.
]=]
-- include prefix
-- include left-over
-- include time
expect_keys(0, 'Priority')
local args = ARGV
-- include verbs/priority
