--- The set for a job that depends, is scheduled or waits; its score there; its state.
local function placement(priority, now, due, blocked)
  if blocked then return '-depends', now, 'depends' end
  if due then return '-scheduled', due, 'scheduled' end
  return '-work', priority - now / 10000000000, 'waiting'
end
