--[=[
  ConsistencyCheck(0, [resolve, [cursor]])

  Returns JSON.
]=]
-- include time: expect_keys

expect_keys(0, 'ConsistencyCheck')
local now, args = tonumber(redis.call('TIME')[1]), ARGV
-- inline commands/consistency.check
