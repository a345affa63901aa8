--[=[
  queue.forget <now> queue…

  Takes queues off the list of those that are known; their jobs stay. Returns nil.
]=]
-- include chunks: in_chunks

if #args == 0 then error('Forget(): Arg "queue" missing') end
in_chunks('ZREM', prefix .. 'queues', args)
