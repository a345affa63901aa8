--[[
  Returns the time in ms by which other scripts with this key go.

  KEYS[1] job hash
  ARGV[1] now in ms, or ''
]]
-- include clock: clock

return clock(ARGV[1])
