-- Gives control_of

--- The key of what holds for the function in all processes, for scripts of clients: those without a limit have no right to it.
local function control_of(jobs)
  return 'control:' .. string.sub(jobs, #'job:' + 1, -2)
end
