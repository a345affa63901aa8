--[=[
  Tag(0, ((add | remove), jid, now, tag…) | (get, tag, [offset, [count]]) | (top, [offset, [count]]))

  Returns JSON, or nil where there is no job.
]=]
-- include time: expect_keys, time_at

expect_keys(0, 'Tag')
local now, args = 0, ARGV
if ARGV[1] == 'add' or ARGV[1] == 'remove' then
  now = time_at(3, 'Tag')
  table.remove(ARGV, 3)
end
-- inline commands/tag
