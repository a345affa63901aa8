--[=[
  Cancel(0, jid)

  Returns nil. A job that others depend on is refused.
]=]
-- include prefix
-- include left-over
-- include time
expect_keys(0, 'Cancel')
if not ARGV[1] then error('Cancel(): Arg "jid" missing') end
local args = { ARGV[1] }
local function run()
  -- include verbs/cancel
end
run()
