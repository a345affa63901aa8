--[=[
  Get(0, jid)

  Returns the job as JSON, or nil.
]=]
-- include time: expect_keys

expect_keys(0, 'Get')
local args = ARGV
-- inline commands/get
