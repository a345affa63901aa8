--[=[
  Complete(0, jid, worker, queue, now, data, [next, q, [(delay, d) | (depends, J)]])

  Returns the job's state, or nil where the worker does not hold the job.
]=]
-- include time: expect_keys, time_at, rest
-- include number: number
-- include arguments: strings

expect_keys(0, 'Complete')
local now = time_at(4, 'Complete')
local args = rest({ ARGV[1], ARGV[2], ARGV[3] }, 5)
local delayed, depending = false, false
for i = 5, #args, 2 do
  delayed = delayed or (args[i] == 'delay' and (number(args[i + 1]) or 0) > 0)
  depending = depending or (args[i] == 'depends' and #(strings(args[i + 1]) or {}) > 0)
end
if delayed and depending then error('Complete(): "delay" and "depends" are not allowed together') end
-- inline commands/complete
