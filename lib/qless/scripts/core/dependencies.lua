-- include chunks
--- Makes a job depend on those of the list that exist and are not complete. Returns whether there were any.
local function depend(jid, list)
  local added = {}
  local unlocking = #list > 0 and redis.call('EXISTS', ql .. 'unlocking') == 1
  for _, on in ipairs(list) do
    local state = on ~= jid and redis.call('HGET', ql .. 'j:' .. on, 'state')
    if state and state ~= 'complete' and not is_cancelling(on) then
      redis.call('SADD', ql .. 'j:' .. on .. '-dependents', jid)
      -- It may wait to be unlocked by an earlier run of that job: this one is to be waited for.
      if unlocking then redis.call('SREM', ql .. 'unlocking:' .. on, jid) end
      added[#added + 1] = on
    end
  end
  if #added > 0 then in_chunks('SADD', ql .. 'j:' .. jid .. '-dependencies', added) end
  return #added > 0
end
