--[=[
  claim <now> worker lock popping first count waiter wake_others klasses (klass slots)… (queue offset)…

  Claims jobs of several queues, 250 at most: `ordered`, from the next queue when the one before has no more, or
  `round-robin`, one of each in turn, starting with queue number `first`.
    lock         seconds that they are locked; '' for the heartbeat of each queue
    count        how many at most
    waiter       a claim that finds no job leaves a token of this name with each queue; '' for none
    wake_others  1: queues whose jobs stay because of their klass wake another worker
    klasses      how many pairs follow. Jobs of other klasses, or beyond the slots of theirs, stay where they are; 0 takes
                 any. A call examines 1,000 waiting jobs, divided among the queues: a quarter at the front, the others
                 from `offset` on
  Returns the jobs as JSON, the time, the number of the queue that is next, the seconds until something will be due
  (nil if nothing is known, 0 if there is more at once), an offset for each queue, and klasses that were left.
]=]
-- include limits: JOBS_A_CALL
-- include queue-terms: terms_of
-- include job-locks: log_missing, lock_jobs
-- include expired-locks: expired_locks
-- include deferred-dependents: unblock_deferred
-- include due-jobs: put_due
-- include number: number
-- include time-text: now_text
-- include job: read_job
-- include wake-ups: wake
-- include jobs-reply: jobs_reply
-- include utf8: is_utf8
-- include wait-tokens: leave_token, next_event
-- include lock-rollback: put_back
-- include rights: require_rights

local KLASSES_NAMED = 20
local worker, lock, popping, first, count = args[1], number(args[2]), args[3], tonumber(args[4]), tonumber(args[5])
local waiter, wake_others, klasses = args[6], args[7] == '1', tonumber(args[8])
count = math.max(0, math.min(count, JOBS_A_CALL))

local slots = klasses > 0 and {} or nil
for i = 9, 7 + 2 * klasses, 2 do slots[args[i]] = tonumber(args[i + 1]) end
local queues = {}
for i = 9 + 2 * klasses, #args, 2 do
  queues[#queues + 1] = { name = args[i], key = prefix .. 'q:' .. args[i], offset = tonumber(args[i + 1]) }
end
local examined_at_most = math.ceil(1000 / #queues)
local front, part, prepared = math.ceil(examined_at_most / 4), math.min(50, math.ceil(examined_at_most / 4)), math.ceil(100 / #queues)

redis.call('ZADD', prefix .. 'workers', now_text, worker)
local unlocking = unblock_deferred(now)

local drawn, left, names_left = {}, {}, {}
--- Whether the job can be claimed: its jid is UTF-8, and its klass has a free slot (or its hash is gone).
local function wanted(queue, jid)
  if string.find(jid, '[\128-\255]') then
    if not is_utf8(jid) then return false end
  end
  local klass = slots and redis.call('HGET', prefix .. 'j:' .. jid, 'klass')
  if not klass or (slots[klass] or 0) > 0 then return true end
  queue.left = true
  if not left[klass] and #names_left < KLASSES_NAMED then
    left[klass] = true
    names_left[#names_left + 1] = klass
  end
  return false
end

local function open(queue)
  queue.opened, queue.jobs, queue.room = true, {}, 0
  if redis.call('SISMEMBER', prefix .. 'paused_queues', queue.name) == 1 then return end
  queue.terms = terms_of(queue.name, lock)
  queue.room = queue.terms.room
  queue.expired = expired_locks(queue.name, now_text, front)
  queue.at, queue.part, queue.place, queue.rank, queue.examined = 1, {}, 1, 0, 0
end

local function next_expired(queue)
  if queue.at > #queue.expired then return end
  -- include expired-jobs: take_expired -- at the head +5 % of a claim without a job
  while queue.at <= #queue.expired do
    local jid = queue.expired[queue.at]
    queue.at = queue.at + 1
    if wanted(queue, jid) then
      local jobs, extended = take_expired(queue.name, { jid }, now, queue.terms.grace)
      queue.room = queue.room - extended
      if jobs[1] or queue.room <= 0 then return jobs[1] end
    end
  end
end

--- Moves due jobs to those that wait, before any job of the queue is taken.
local function prepare(queue)
  if queue.prepared then return end
  queue.prepared = true
  if not put_due(queue.name, now, slots and prepared or count - #drawn) then return end
  queue.more = redis.call('ZCOUNT', queue.key .. '-recur', '-inf', now_text) > 0
    or redis.call('ZCOUNT', queue.key .. '-scheduled', '-inf', now_text) > 0
end

--- Reads further waiting jobs; false at the end, or when enough were examined.
local function read_on(queue)
  if queue.examined >= examined_at_most then return false end
  if queue.rank >= front and queue.rank < queue.offset then queue.rank = queue.offset end
  -- As many as are wanted: usually the first ones can be claimed.
  local size = queue.examined < count and math.min(part, count - #drawn) or part
  queue.part = redis.call('ZREVRANGE', queue.key .. '-work', queue.rank, queue.rank + size - 1)
  queue.place, queue.ended = 1, #queue.part == 0
  return not queue.ended
end

local function next_waiting(queue)
  while queue.place <= #queue.part or read_on(queue) do
    local jid = queue.part[queue.place]
    queue.place, queue.examined = queue.place + 1, queue.examined + 1
    if wanted(queue, jid) then
      -- Without any other it is put back.
      require_rights('HSET', 'LRANGE', 'ZSCORE')
      -- A queue that is named twice has been read before.
      if redis.call('ZREM', queue.key .. '-work', jid) == 1 then
        local job = read_job(jid)
        if job then return job end
        log_missing(jid, queue.name)
      end
    else
      queue.rank = queue.rank + 1
    end
  end
end

--- Claims the queue's next job, if there is one that can be claimed.
local function draw(queue)
  if not queue.opened then open(queue) end
  if queue.room <= 0 then return false end
  local job = next_expired(queue)
  if not job and queue.room > 0 then
    prepare(queue)
    job = next_waiting(queue)
  end
  if not job then return false end
  queue.room = queue.room - 1
  if slots then slots[job[2]] = slots[job[2]] - 1 end
  queue.jobs[#queue.jobs + 1] = job
  drawn[#drawn + 1] = { queue, #queue.jobs }
  return true
end

local function claim_all()
  if popping == 'ordered' then
    for _, queue in ipairs(queues) do
      while #drawn < count and draw(queue) do end
    end
  else
    local without = 0
    while #drawn < count and without < #queues do
      without = draw(queues[first]) and 0 or without + 1
      first = first % #queues + 1
    end
  end
  for _, queue in ipairs(queues) do
    if queue.jobs and #queue.jobs > 0 then
      queue.texts = lock_jobs(queue.name, queue.jobs, worker, queue.terms.expires, queue.terms.cap)
    end
  end
end

local good, why = pcall(claim_all)
if not good then
  -- Whatever one queue is refused, the others lose no job.
  for _, queue in ipairs(queues) do put_back(queue.name, queue.jobs or {}) end
  error(why, 0)
end

local due, offsets, texts = nil, {}, {}
for i, queue in ipairs(queues) do
  offsets[i] = queue.offset
  if queue.ended then
    offsets[i] = 0
  elseif queue.rank and queue.rank > front then
    offsets[i] = queue.rank
  end
  if wake_others and queue.left then wake(queue.name, 1) end
  if queue.more or unlocking then due = 0 end
end
for i, draw_of in ipairs(drawn) do texts[i] = draw_of[1].texts[draw_of[2]] end
if #drawn == 0 and waiter ~= '' and due ~= 0 then
  for _, queue in ipairs(queues) do
    leave_token(queue.name, waiter)
    local event = next_event(queue.name, now)
    if event and (not due or event - now < due) then due = event - now end
  end
end
return { jobs_reply(texts), now_text, first, due and string.format('%.6f', due) or false, offsets, names_left }
