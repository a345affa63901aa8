--[=[
  worker.deregister <now> worker…

  Takes workers off the list of those that were seen; their locks stay. Returns nil.
]=]
-- include chunks: in_chunks

if #args == 0 then error('Deregister(): Arg "worker" missing') end
in_chunks('ZREM', prefix .. 'workers', args)
