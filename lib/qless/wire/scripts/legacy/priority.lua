--[=[
  Priority(0, jid, priority)

  Returns the priority, or nil where there is no job.
]=]
-- include time: expect_keys

expect_keys(0, 'Priority')
local args = ARGV
-- inline commands/priority
