--- The first score of a list of ended jobs whose job may still be there. `usual` is the ms for which jobs are kept unless the
--- list says that it is longer.
local function first_kept(list, now, usual)
  local longer = tonumber(read(false, 'ZSCORE', list, '') or nil)
  return string.format('(%.0f', now - (longer and -longer or tonumber(usual)))
end
