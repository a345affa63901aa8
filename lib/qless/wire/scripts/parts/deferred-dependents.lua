--- Unlocks a part of what earlier completions left locked. Returns whether there was any.
local function unblock_deferred(now)
  if redis.call('EXISTS', prefix .. 'unlocking') == 0 then return false end
  -- include dependents: unblock_more -- at the head +5 % of an empty pop
  unblock_more(now)
  return true
end
