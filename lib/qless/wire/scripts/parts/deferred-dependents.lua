--- Unblocks some of the jobs that earlier completions left blocked. Returns whether there were any.
local function unblock_deferred(now)
  if redis.call('EXISTS', prefix .. 'unlocking') == 0 then return false end
  -- include unblocking-rights: require_rights_to_unblock -- as dependents
  require_rights_to_unblock()
  -- include dependents: unblock_more -- at the head +5 % of an empty pop
  unblock_more(now)
  return true
end
