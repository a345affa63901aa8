--[=[
  Failed(0, [group, [start, [limit]]])

  Returns {group: count}, or {total, jobs} with whole jobs, 250 at most.
]=]
-- include time: expect_keys

expect_keys(0, 'Failed')
local args = ARGV
-- inline commands/failed
