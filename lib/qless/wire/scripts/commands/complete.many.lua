--[=[
  complete.many <now> worker queue jid data [jid data]…

  Ends up to 250 jobs that the worker holds of one queue, as `complete` without `next` does for each. A job that
  can't be completed does not affect the others. Not in the original.
  Returns for each job, in that order, its state, complete, or the error that `complete` replies for it. Errors before
  anything is written: an argument that is missing or malformed, more than 250 jobs.
]=]
-- include limits: JOBS_A_CALL
-- include tracked-events: publish_tracked
-- include job-events: publish_job
-- include history: append_history, history_item
-- include samples: record
-- include completion: objection, write_complete, prune_completed
-- include rights: require_rights
-- include unblocking-rights: require_rights_to_unblock
-- include json: json
-- include number: number
-- include time-text: now_text
-- include dependents: unblock_more, UNBLOCKED_A_CALL, unblock_dependents
-- include refusals: refusal

local worker, queue = args[1], args[2]
if not worker then error('Complete(): Arg "worker" missing') end
if not queue then error('Complete(): Arg "queue" missing') end
if not args[3] then error('Complete(): Arg "jid" missing') end
if #args > 2 + 2 * JOBS_A_CALL then error('Complete(): More than ' .. JOBS_A_CALL .. ' jobs; complete them in several calls') end
for i = 4, #args + #args % 2, 2 do
  if json(args[i]) == nil then error('Complete(): Arg "data" missing or not JSON: ' .. tostring(args[i])) end
end

require_rights('ZMSCORE')
require_rights_to_unblock()
local config = redis.call('HMGET', prefix .. 'config', 'max-job-history', 'jobs-history-count', 'jobs-history')
local cap, done_item = number(config[1]) or 100, history_item(now, 'done')
local replies, done, keys, runs, scores = {}, {}, {}, {}, {}
for i = 3, #args, 2 do
  local jid, key = args[i], prefix .. 'j:' .. args[i]
  local job = redis.call('HMGET', key, 'worker', 'state', 'queue', 'retries', 'time', 'grace')
  local code, why = objection(jid, job, worker, queue)
  if not code then
    local at = #done + 1
    done[at], keys[at], runs[at] = jid, key .. '-dependents', now - (tonumber(job[5]) or now)
    scores[2 * at - 1], scores[2 * at] = now_text, jid
    append_history(jid, done_item, cap)
    if job[6] then redis.call('HDEL', key, 'grace') end
    write_complete(key, args[i + 1], job[4])
  end
  replies[#replies + 1] = code and refusal(code, why) or 'complete'
end
if #done == 0 then return replies end

redis.call('ZREM', prefix .. 'q:' .. queue .. '-locks', unpack(done))
redis.call('ZREM', prefix .. 'w:' .. worker .. ':jobs', unpack(done))
redis.call('ZADD', prefix .. 'completed', unpack(scores))
record('run', queue, now, runs)
local tracked = redis.call('ZMSCORE', prefix .. 'tracked', unpack(done))
for i, jid in ipairs(done) do
  if tracked[i] then publish_tracked('completed', jid) end
  publish_job('completed', jid, queue)
end
keys[#keys + 1] = prefix .. 'unlocking'
if redis.call('EXISTS', unpack(keys)) > 0 then
  unblock_more(now)
  local left = UNBLOCKED_A_CALL
  for _, jid in ipairs(done) do left = left - unblock_dependents(jid, now, left) end
end
prune_completed(now, config[3], config[2], #done)
return replies
