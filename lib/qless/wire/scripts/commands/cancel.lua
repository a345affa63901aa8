--[=[
  cancel <now> jid…

  Deletes jobs, in whatever state but complete. Jobs that depend on one of them must be cancelled with it, otherwise
  nothing is done. Jids without a job are ignored. Of more than 500, 250 are deleted in this call and the others in
  later ones: until then calls that name them find nothing, but they may be counted and listed.
  Returns the jids. Error: <jid> is a dependency of <jid> but is not mentioned to be canceled.
]=]
-- include limits: JOBS_A_CALL
-- include cancellation: with_dependents, defer_cancellation, cancel_all
-- include deferred-work: is_cancelling, finish_deferred
-- include refusals: raise

local given = {}
for _, jid in ipairs(args) do given[jid] = true end
local dependents = with_dependents(args)
for jid, list in pairs(dependents) do
  for _, dependent in ipairs(list) do
    if not given[dependent] and not is_cancelling(dependent) then
      raise('DEPENDENCY', 'Cancel(): ' .. jid .. ' is a dependency of ' .. dependent .. ' but is not mentioned to be canceled')
    end
  end
end
if #args > 2 * JOBS_A_CALL then
  defer_cancellation(args)
  finish_deferred({}, JOBS_A_CALL)
else
  cancel_all(args, dependents)
end
return args
