--[=[
  pause <now> queue…

  From now on pop claims no jobs of these queues. Returns nil.
]=]
-- include chunks: in_chunks

if #args == 0 then error('Pause(): Arg "queue" missing') end
in_chunks('SADD', prefix .. 'paused_queues', args)
