-- Gives read_schedule
-- include calls: call

--- Adds a schedule to a reply: id, what its client wrote as JSON, version, slot of the next tick, its time in ms, time of
--- the last one that became a job, number of jobs, the last job as "id:mark". Values that it lacks are ''. Returns how many
--- bytes its client wrote, or nil if there is no such schedule.
local function read_schedule(schedules, ticks, id, reply)
  local found = call('HMGET', schedules, 'spec:' .. id, 'version:' .. id, 'slot:' .. id, 'previous:' .. id, 'made:' .. id, 'job:' .. id)
  if not found[1] then return nil end
  local values = { id, found[1], found[2], found[3], call('ZSCORE', ticks, id), found[4], found[5], found[6] }
  for value = 1, 8 do reply[#reply + 1] = values[value] or '' end
  return #found[1]
end
