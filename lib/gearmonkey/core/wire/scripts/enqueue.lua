--[[
  Creates jobs and queues their ids: the protocol's Client.run for many jobs at once.

  KEYS[1] ids   KEYS[2] prefix of the job hashes   KEYS[3] queue   KEYS[4] channel   KEYS[5] wake marker
  KEYS[6] the result of this sender's last call
  ARGV[1] created, in ms   ARGV[2] number of this call   ARGV[3] seconds for which its result is kept   ARGV[4] mark of the first
  ARGV[5] '' for a list of jobs that don't expire by it, or when they are due and expire, as times.lua reads it   ARGV[6] options
  of all these jobs as JSON, '' for none, or '*'
  ARGV[7…] inputs; with '*' each is followed by the job's own options as JSON, or ''
  Returns the id of the last job; the others precede it without a gap.

  A call that is sent again after a lost reply creates nothing and returns the same result. If a call arrives after a
  later call of the same sender, its connection delivered it late and the sender no longer waits for it: it creates
  nothing.

  Commands that Redis may refuse come first, or their effects are undone: an error means that no job was created.
  A listener that gets a job's event finds the whole job: nothing else runs before the script has ended.
]]
-- include create: create_jobs
-- include sender: reserve_ids

local score, shared, first = ARGV[5], ARGV[6], 7
local values_a_job = shared == '*' and 2 or 1
local count = (#ARGV - first + 1) / values_a_job

local last, known, sent = reserve_ids(KEYS[1], count, KEYS[6], ARGV[2], ARGV[3])
if sent then return sent end

local wait = 0
if score ~= '' then
  -- include clock: clock -- at the head these cost +2 % of a job that runs at once
  -- include times: times_of -- at the head these cost +2 % of a job that runs at once
  -- include with-expiry: with_expiry -- at the head these cost +2 % of a job that runs at once
  local time, expires = clock('')
  score, expires = times_of(score, time)
  if score ~= '' then wait = score * 1000 - time end
  if expires and values_a_job == 1 then
    shared = with_expiry(shared, expires)
  elseif expires then
    for i = first + 1, #ARGV, 2 do ARGV[i] = with_expiry(ARGV[i], expires) end
  end
end

return create_jobs(last, count, {
  known = known, args = ARGV, first = first, values_a_job = values_a_job, shared = shared, score = score, wait = wait,
}) or last
