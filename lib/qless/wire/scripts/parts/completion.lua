-- include number: number
-- include time-text: now_text

local PRUNED_A_CALL = 200

--- Why the worker can't complete the job, as a code and a text; nil where it can. `job` begins with worker, state and
--- queue.
local function objection(jid, job, worker, queue)
  local this = 'Complete(): Job ' .. jid
  if not job[2] then return 'JOB_NOT_FOUND', this .. ' does not exist' end
  if job[2] ~= 'running' then return 'STATE', this .. ' is not currently running: ' .. job[2] end
  if job[1] ~= worker then return 'JOB_LOST', this .. ' has been handed out to another worker: ' .. job[1] end
  if job[3] ~= queue then return 'STATE', this .. ' running in another queue: ' .. job[3] end
end

local function write_complete(key, data, retries)
  redis.call('HSET', key, 'data', data, 'time', now_text, 'state', 'complete', 'worker', '', 'failure', '{}', 'queue', '',
    'expires', '0', 'remaining', retries)
end

local function prune(now, age, most, added)
  local history, kept = now - (number(age) or 604800), number(most) or 50000
  local key = prefix .. 'completed'
  if redis.call('ZCARD', key) > kept or redis.call('ZCOUNT', key, '-inf', history) > 0 then
    -- include job-retention: delete_excess -- at the head +3 % of complete
    delete_excess(history, kept, added + PRUNED_A_CALL)
  end
end

--- Complete jobs are kept for a time, and up to a number. Deletes the excess: as many as were `added`, and some of an
--- older excess. That stops no call.
local function prune_completed(now, age, most, added) pcall(prune, now, age, most, added) end
