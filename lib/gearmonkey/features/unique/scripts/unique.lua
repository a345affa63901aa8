--[[
  Creates jobs as enqueue.lua does, but no job for a unique key that has one.

  KEYS[1] ids   KEYS[2] prefix of the job hashes   KEYS[3] queue   KEYS[4] channel   KEYS[5] wake marker
  KEYS[6] the result of this sender's last call   KEYS[7] unique keys   KEYS[8] scheduled   KEYS[9] prefix of the locks
  ARGV[1] created, in ms   ARGV[2] number of this call   ARGV[3] seconds for which its result is kept   ARGV[4] mark of the first new one
  ARGV[5] '', or when they are due and expire, as times.lua reads it; a debounce is a span
  ARGV[6] now in ms for spans of time, or ''
  ARGV[7…] four values for each job: input, options as JSON or '', rule, unique key. The rule says which job of the key stands for
    the new one:
      ''                     none: the job has no unique key
      'unfinished'           one that has not finished
      'waiting'              one that has not finished, unless it runs
      'throttle:MS'          one that was created less than MS ago
      'debounce:MS:LONGEST'  one that waits in `scheduled` and has not begun (claims that were released don't count). It gets
                             this input and these options, and is due in MS, but at most LONGEST after it was created
                             (no limit if that is '')
  Returns for each job the id of the new one, or "id:mark" of the one that stands for it.

  An entry of the unique keys is "id:mark:time", for 'throttle' followed by ":until". It says which job was created last with this
  key. Nothing removes it when the job ends: a call that reads it checks the job's own hash. Calls that add keys remove
  entries that are over, so that there are never many of them.
]]
-- include calls: call, try
-- include clock: clock
-- include create: create_jobs, undo_jobs
-- include end-refusal: end_refusal
-- include expiry: EXPIRES, expire
-- include foreign: count
-- include mark: mark_of
-- include refusals: refusal_of
-- include sent: known_result
-- include tagged: may_have_tags
-- include tags: open_tags
-- include times: times_of
-- include with-expiry: with_expiry

local ids, jobs, queue, channel, wake, sender, unique, scheduled = unpack(KEYS)
local number, memory, mark, score = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local keys = { jobs = jobs, channel = channel, locks = KEYS[9] }
--- How often a call looks for entries that are over.
local MAX_PASSES = 10

local known = call('GET', sender)
local sent = known and known_result(known, sender, number, memory)
if type(sent) == 'table' then return sent end
if sent then
  local results = {}
  for one in string.gmatch(sent, '[^,]+') do results[#results + 1] = one end
  return results
end

local refusal = refusal_of('INCRBY', ids) or refusal_of('SET DEL', sender) or refusal_of('PUBLISH', channel)
  or refusal_of('HMGET HSET DEL', jobs .. 'x') or refusal_of('HMGET HSET HDEL HRANDFIELD', unique)
  or refusal_of('LPUSH LREM ZADD ZREM', queue) or refusal_of('ZADD ZSCORE', scheduled) or refusal_of('EXISTS LPUSH', wake)
if refusal then return refusal end

local time = clock(ARGV[6])
local stamp = string.format('%.0f', time)
--- The ms from when a job may run to when it expires, if that is a span.
local lasts, expires = string.match(score, ':%+(.+)$'), nil
if score ~= '' then score, expires = times_of(score, time) end

--- Kind, span and longest wait of a rule, '' where it has none; nil if it is malformed.
local function parse(rule)
  if rule == '' or rule == 'unfinished' or rule == 'waiting' then return rule, '', '' end
  local kind, span, longest = string.match(rule, '^(%l+):(%d+):?(%d*)$')
  if kind == 'throttle' or kind == 'debounce' then return kind, span, longest end
end

--- The entries of the keys, by key; or an error.
local function read_entries()
  local wanted, entries = {}, {}
  for i = 7, #ARGV, 4 do
    if not ARGV[i + 3] or not parse(ARGV[i + 2]) then return nil, redis.error_reply('ERR malformed unique job') end
    if ARGV[i + 2] ~= '' then wanted[#wanted + 1] = ARGV[i + 3] end
  end
  if #wanted == 0 then return entries end
  for i, entry in ipairs(call('HMGET', unique, unpack(wanted))) do entries[wanted[i]] = entry end
  return entries
end

--- The job that stands for a new one, if any: its id, its mark, when it was created, and when it is due.
local function standing(entry, kind, span)
  local id, job_mark, since, till = string.match(entry or '', '^(%d+):(%d+):(%d+):?(%d*)$')
  if not id then return nil end
  if kind == 'throttle' then
    -- Only a job that was created with this rule: the entry of another may have been removed since that job ended.
    if till ~= '' and time < tonumber(till) and time - since < tonumber(span) then return id, job_mark end
    return nil
  end
  local job = try('HMGET', jobs .. id, 'status', 'mark', 'options', 'attempts', 'snoozes')
  if job.err or job[2] ~= job_mark then return nil end
  if job[1] == 'busy' then
    if kind == 'unfinished' then return id, job_mark end
    return nil
  end
  if job[1] ~= 'idle' then return nil end
  if string.find(job[3] or '', EXPIRES, 1, true) then
    keys.refusal = end_refusal(keys, 'failed')
    local left = expire(keys, id, time)
    if left == keys.refusal then refusal = left end
    -- Its id stays in its queue, from which a retry removes it.
    if left == 0 then
      call('HSET', jobs .. id, 'queued', '1')
      return nil
    end
  end
  if kind ~= 'debounce' then return id, job_mark end
  if count(job[4]) > 0 or count(job[5]) > 0 then return nil end
  local due = try('ZSCORE', scheduled, id)
  if type(due) ~= 'string' then return nil end
  return id, job_mark, since, due
end

--- Inputs and options of new jobs, their entries by key, and their places among them by key.
local args, added, place_of = {}, {}, {}
--- Debounced jobs that get another input.
local changes = {}
--- For each job its place among the new ones, or "id:mark" of another.
local places, is_new = {}, {}

local entries, malformed = read_entries()
if malformed then return malformed end
for i = 7, #ARGV, 4 do
  local input, own, key = ARGV[i], ARGV[i + 1], ARGV[i + 3]
  local options = expires and with_expiry(own, expires) or own
  local kind, span, longest = parse(ARGV[i + 2])
  local place, id, job_mark, since, due = place_of[key]
  if kind == '' then
    place = nil
  elseif not place then
    id, job_mark, since, due = standing(entries[key], kind, span)
  end
  local n = #places + 1
  if id then
    places[n] = id .. ':' .. job_mark
    if kind == 'debounce' then
      local next_due = math.min(time + span, longest == '' and math.huge or since + longest)
      if lasts then options = with_expiry(own, next_due + lasts) end
      changes[#changes + 1] = { id = id, input = input, options = options, due = next_due, was = due }
    end
  elseif place then
    places[n] = place
    if kind == 'debounce' then args[2 * place - 1], args[2 * place] = input, options end
  else
    places[n], is_new[n] = #args / 2 + 1, true
    args[#args + 1], args[#args + 2] = input, options
    if kind ~= '' then
      place_of[key] = places[n]
      added[key] = kind == 'throttle' and stamp .. ':' .. string.format('%.0f', time + span) or stamp
    end
  end
end

if refusal then return refusal end

local created = #args / 2
local last = created > 0 and call('INCRBY', ids, created) or 0
for n, place in ipairs(places) do
  if type(place) == 'number' then
    local id = string.format('%.0f', last - created + place)
    places[n] = is_new[n] and id or id .. ':' .. mark_of(mark, place)
  end
end
call('SET', sender, number .. ':' .. table.concat(places, ','), 'EX', memory)

--- Writes the last inputs of debounced jobs. Only the first write can be refused, for lack of a right: nothing changes then.
local function change()
  local is_sooner = false
  for _, job in ipairs(changes) do
    local queued = try('ZADD', scheduled, string.format('%.3f', job.due / 1000), job.id)
    if type(queued) == 'table' then return queued end
    local written = try('HSET', jobs .. job.id, 'input', job.input, 'options', job.options, 'due', string.format('%.0f', job.due))
    if type(written) == 'table' then
      call('ZADD', scheduled, job.was, job.id)
      return written
    end
    if may_have_tags(job.options) then
      local tags = open_tags(jobs)
      tags.add(job.id, job.options)
      tags.write(job.due - time)
    end
    is_sooner = is_sooner or job.due < job.was * 1000
  end
  if is_sooner and try('EXISTS', wake) == 0 then try('LPUSH', wake, '1') end
end

--- Whether an entry stands for no job any more, whatever the rule.
local function is_over(entry)
  local id, job_mark, till = string.match(entry, '^(%d+):(%d+):%d+:?(%d*)$')
  if not id then return true end
  if till ~= '' and time < tonumber(till) then return false end
  local job = try('HMGET', jobs .. id, 'status', 'mark')
  return job.err or job[2] ~= job_mark or (job[1] ~= 'idle' and job[1] ~= 'busy')
end

--- Looks at as many entries as were added, again while many of them are over. Half of all may be over at any time.
local function clean(size)
  for _ = 1, MAX_PASSES do
    local some = try('HRANDFIELD', unique, size, 'WITHVALUES')
    if some.err then return end
    local over = {}
    for i = 1, #some, 2 do
      if is_over(some[i + 1]) then over[#over + 1] = some[i] end
    end
    if #over > 0 then try('HDEL', unique, unpack(over)) end
    if #over * 8 < #some then return end
  end
end

if created == 0 then
  local failure = change()
  if not failure then return places end
  if known then call('SET', sender, known, 'EX', memory) else call('DEL', sender) end
  return failure
end

local wait = score == '' and 0 or score * 1000 - time
local new = { known = known, args = args, first = 1, values_a_job = 2, shared = '*', score = score, wait = wait }
local failure = create_jobs(last, created, new)
if failure then return failure end

local entered = {}
for key, rest in pairs(added) do
  entered[#entered + 1] = key
  entered[#entered + 1] = new.names[place_of[key]] .. ':' .. mark_of(mark, place_of[key]) .. ':' .. rest
end
if #entered > 0 then
  local size = try('HSET', unique, unpack(entered))
  if type(size) == 'table' then return undo_jobs(new, size, true, created) end
  if size > 0 then clean(size) end
end
change()
return places
