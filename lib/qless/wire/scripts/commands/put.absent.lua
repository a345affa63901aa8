--[=[
  put.absent <now> worker queue jid klass data delay [as put]

  Puts a job unless there is one of that jid, in whatever state: then nothing changes. Not in the original.
  Returns the jid, or nil where nothing was put.
]=]
if args[3] and redis.call('EXISTS', prefix .. 'j:' .. args[3]) == 1 then return false end
-- inline commands/put
