--[=[
  Get(0, jid)

  Returns the job as JSON, or nil.
]=]
-- include prefix
-- include left-over
-- include time
expect_keys(0, 'Get')
local args = ARGV
-- include verbs/get
