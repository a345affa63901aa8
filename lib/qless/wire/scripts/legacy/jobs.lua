--[=[
  Jobs(0, (stalled | running | scheduled | depends | recurring), now, queue, [offset, [count]])
  Jobs(0, complete, [offset, [count]])

  Returns a list of jids.
]=]
-- include time: expect_keys, time_at

expect_keys(0, 'Jobs')
local now, args = 0, ARGV
if ARGV[1] ~= 'complete' then
  now = time_at(2, 'Jobs')
  table.remove(ARGV, 2)
end
-- inline commands/jobs
