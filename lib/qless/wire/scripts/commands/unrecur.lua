--[=[
  unrecur <now> jid

  Ends a recurring job; its children stay. Returns 1, also where there is none.
]=]
-- include rights: require_rights

local jid = args[1]
if not jid then error('Unrecur(): Arg "jid" missing') end
local queue = redis.call('HGET', prefix .. 'r:' .. jid, 'queue')
require_rights('DEL', 'ZREM')
if queue then redis.call('ZREM', prefix .. 'q:' .. queue .. '-recur', jid) end
redis.call('DEL', prefix .. 'r:' .. jid)
return 1
