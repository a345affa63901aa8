--[=[
  peek <now> queue count

  The jobs that pop would return, up to `count` (250 at most), expired locks first. It invalidates none of them, but
  children of recurring jobs that are due are created, and due scheduled jobs become waiting.
  Returns the jobs as JSON, {} where there are none.
]=]
-- include limits: JOBS_A_CALL
-- include job-list: job_list
-- include jobs-reply: jobs_reply
-- include due-jobs: put_due
-- include deferred-dependents: unblock_deferred
-- include expired-locks: expired_locks
-- include number: number

local queue, count = args[1], number(args[2])
if not queue then error('Peek(): Arg "queue" missing') end
if not count then error('Peek(): Arg "count" missing or not a number: ' .. tostring(args[2])) end
count = math.max(0, math.min(math.floor(count), JOBS_A_CALL))
unblock_deferred(now)
local key = prefix .. 'q:' .. queue
local jids = expired_locks(queue, now, count)
put_due(queue, now, count - #jids)
if #jids < count then
  for _, jid in ipairs(redis.call('ZREVRANGE', key .. '-work', 0, count - #jids - 1)) do jids[#jids + 1] = jid end
end
return jobs_reply((job_list(jids)))
