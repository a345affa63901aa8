--[=[
  Put(1, queue, jid, klass, data, now, delay, [priority, p], [tags, J], [retries, r], [depends, J])

  Returns the jid.
]=]
-- include time: expect_keys, time_at, rest
-- include number: number
-- include arguments: strings

expect_keys(1, 'Put')
local now = time_at(4, 'Put')
local args = rest({ '', KEYS[1], ARGV[1] or false, ARGV[2] or false, ARGV[3] or false }, 5)
local delayed, depending = (number(args[6]) or 0) > 0, false
for i = 7, #args, 2 do depending = depending or (args[i] == 'depends' and #(strings(args[i + 1]) or {}) > 0) end
if delayed and depending then error('Put(): "delay" and "depends" are not allowed to be used together') end
-- inline commands/put
