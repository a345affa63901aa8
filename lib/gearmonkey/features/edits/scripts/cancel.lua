--[[
  Ends a job that waits or that a worker of this package runs. A running job loses its lease, so its result is refused.

  KEYS[1] prefix of the job hashes   KEYS[2] prefix of the locks   KEYS[3] leases   KEYS[4] scheduled
  KEYS[5] high   KEYS[6] normal   KEYS[7] low   KEYS[8] channel   KEYS[9] channel of cancellations   KEYS[10] wake marker
  ARGV[1] now in ms, or ''   ARGV[2] id   ARGV[3] mark, or '' for any job with this id   ARGV[4] message
  ARGV[5] error as JSON   ARGV[6] 1 if a job that runs is left alone, or none
  Returns cancelled, cancelled-before (as an earlier call has left it), finished, missing, lost (another job has the id) or running
  (on a plain worker, which can't be stopped, or left alone); cancelled-in-flow if settle-flows.lua has something to do.

  Removing an id from a list takes time linear in its length.
]]
-- include cancel-job: cancel_job
-- include clock: clock
-- include control-key: control_of
-- include limit-prefix: limit_prefix

local keys = {
  jobs = KEYS[1], locks = KEYS[2], leases = KEYS[3], scheduled = KEYS[4], high = KEYS[5], normal = KEYS[6], low = KEYS[7],
  channel = KEYS[8], cancel = KEYS[9], wake = KEYS[10], limits = limit_prefix(KEYS[1]), control = control_of(KEYS[1]),
}

local came = cancel_job(keys, clock(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6] == '1')
return came == 'cancelled' and keys.ended_in_flow and 'cancelled-in-flow' or came
