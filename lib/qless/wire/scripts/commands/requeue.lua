--[=[
  requeue <now> worker queue jid klass data delay [as put]

  Puts an existing job; an error if there is none (it was cancelled, or deleted after it was complete).
  Returns the jid.
]=]
-- include refusals: raise

if args[3] and redis.call('EXISTS', prefix .. 'j:' .. args[3]) == 0 then
  raise('JOB_NOT_FOUND', 'Requeue(): Job ' .. args[3] .. ' does not exist')
end
-- inline commands/put
