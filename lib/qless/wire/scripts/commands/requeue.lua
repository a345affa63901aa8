--[=[
  requeue <now> worker queue jid klass data delay [as put]

  Puts a job that is there; errors where there is none (it was cancelled, or its history has passed).
  Returns the jid.
]=]
if args[3] and redis.call('EXISTS', prefix .. 'j:' .. args[3]) == 0 then
  error('Requeue(): Job ' .. args[3] .. ' does not exist')
end
-- inline commands/put
