-- Gives first_kept
-- include reads: read

--- The first score of a list of ended jobs whose job may still be there. `usual` is the ms for which jobs are kept unless the
--- list says that it is longer.
local function first_kept(list, now, usual)
  local longer = tonumber(read(false, 'ZSCORE', list, '') or nil)
  -- A score above 0 is none of ours.
  return string.format('(%.0f', now - (longer and longer < 0 and -longer or tonumber(usual)))
end
