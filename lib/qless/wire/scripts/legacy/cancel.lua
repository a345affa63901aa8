--[=[
  Cancel(0, jid)

  Returns nil. A job that others depend on is refused.
]=]
-- include time: expect_keys

expect_keys(0, 'Cancel')
if not ARGV[1] then error('Cancel(): Arg "jid" missing') end
local args = { ARGV[1] }
local function run()
  -- inline commands/cancel
end
run()
