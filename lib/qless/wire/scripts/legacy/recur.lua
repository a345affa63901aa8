--[=[
  Recur(0, on, queue, jid, klass, data, now, interval, I, offset, [priority, p], [tags, J], [retries, r])
  Recur(0, off, jid)
  Recur(0, get, jid)
  Recur(0, update, jid, [priority, p], [interval, I], [retries, r], [data, J], [klass, k], [queue, q])
  Recur(0, (tag | untag), jid, tag…)

  Returns as recur, unrecur, recur.get and so on do, or nil where there is no such recurring job.
]=]
-- include time: expect_keys, time_at, rest

expect_keys(0, 'Recur')
local command = ARGV[1]
if command == 'on' then
  local now = time_at(6, 'Recur')
  local args = rest({ ARGV[2], ARGV[3], ARGV[4], ARGV[5] }, 7)
  -- inline commands/recur
end
local now = tonumber(redis.call('TIME')[1])
local args = rest({}, 2)
if command == 'off' then
  -- inline commands/unrecur
elseif command == 'get' then
  -- inline commands/recur.get
elseif command == 'update' then
  -- inline commands/recur.update
elseif command == 'tag' then
  -- inline commands/recur.tag
elseif command == 'untag' then
  -- inline commands/recur.untag
end
error('Recur(): First argument must be one of on, off, get, update, tag, untag. Got ' .. tostring(command))
