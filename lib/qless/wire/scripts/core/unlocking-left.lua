--- Unlocks a part of what earlier completions left locked. Returns whether there was any.
local function unlock_left(now)
  if redis.call('EXISTS', ql .. 'unlocking') == 0 then return false end
  -- include unlocking
  unlock_more(now)
  return true
end
