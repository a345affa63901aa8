--[[
  Gives a job a signal, whether it waits for that or not.

  KEYS[1] prefix of the job hashes   KEYS[2] scheduled   KEYS[3] wake marker
  ARGV[1] now in ms, or ''   ARGV[2] id   ARGV[3] mark, or '' for any job with this id   ARGV[4] name   ARGV[5] data
  ARGV[6] what only this call has: it returns the same if it is sent again. Left out by older programs
  Returns signalled, known (it had a signal of this name), finished, missing or lost (another job has the id).
]]
-- include clock: clock
-- include limit-prefix: limit_prefix
-- include signals: give_signal

local keys = { jobs = KEYS[1], scheduled = KEYS[2], wake = KEYS[3], limits = limit_prefix(KEYS[1]) }
local now = clock(ARGV[1])

return give_signal(keys, now, ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6])
