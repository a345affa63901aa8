--[=[
  unrecur <now> jid

  Ends a recurring job; its children stay. Returns 1, also where there is none.
]=]
local jid = args[1]
if not jid then error('Unrecur(): Arg "jid" missing') end
local queue = redis.call('HGET', ql .. 'r:' .. jid, 'queue')
if queue then redis.call('ZREM', ql .. 'q:' .. queue .. '-recur', jid) end
redis.call('DEL', ql .. 'r:' .. jid)
return 1
