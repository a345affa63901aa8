--[=[
  peek <now> queue count

  What pop would hand out, up to `count` (250 at most), expired locks first. It invalidates none of them, but
  children of recurring jobs that are due are created, and scheduled jobs that are due go to work.
  Returns the jobs as JSON, {} where there are none.
]=]
-- include limit
-- include arguments
-- include several
-- include jobs-reply
-- include due
-- include unlocking-left
-- include expired-locks
local queue, count = args[1], number(args[2])
if not queue then error('Peek(): Arg "queue" missing') end
if not count then error('Peek(): Arg "count" missing or not a number: ' .. tostring(args[2])) end
count = math.max(0, math.min(math.floor(count), JOBS_A_CALL))
unlock_left(now)
local key = ql .. 'q:' .. queue
local jids = expired_locks(queue, now, count)
put_due(queue, now, count - #jids)
if #jids < count then
  for _, jid in ipairs(redis.call('ZREVRANGE', key .. '-work', 0, count - #jids - 1)) do jids[#jids + 1] = jid end
end
return jobs_reply((texts_of(jids)))
