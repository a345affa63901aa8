--[=[
  ConsistencyCheck(0, [resolve, [cursor]])

  Returns JSON.
]=]
-- include prefix
-- include left-over
-- include time
expect_keys(0, 'ConsistencyCheck')
local now, args = tonumber(redis.call('TIME')[1]), ARGV
-- include verbs/consistency.check
