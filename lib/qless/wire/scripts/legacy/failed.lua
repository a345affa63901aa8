--[=[
  Failed(0, [group, [start, [limit]]])

  Returns {group: count}, or {total, jobs} with whole jobs, 250 at most.
]=]
-- include prefix
-- include left-over
-- include time
expect_keys(0, 'Failed')
local args = ARGV
-- include verbs/failed
