--[=[
  unpause <now> queue…

  Ends a pause, and wakes the workers that wait for the queues. Returns nil.
]=]
-- include chunks: in_chunks
-- include wake-ups: wake

if #args == 0 then error('Unpause(): Arg "queue" missing') end
in_chunks('SREM', prefix .. 'paused_queues', args)
for _, queue in ipairs(args) do wake(queue, 1000) end
