--[[
  Creates jobs of a function that has a limit: as enqueue.lua, except that each job waits for the turn of its key.

  KEYS[1] ids   KEYS[2] prefix of the job hashes   KEYS[3] prefix of the locks   KEYS[4] leases   KEYS[5] channel
  KEYS[6] channel of cancellations   KEYS[7] wake marker   KEYS[8] the result of this sender's last call
  KEYS[9] control   KEYS[10] prefix of the limits
  ARGV[1] created, in ms   ARGV[2] number of this call   ARGV[3] seconds for which its result is kept   ARGV[4] mark of the first
  ARGV[5] '', or when they are due and expire, as times.lua reads it   ARGV[6] priority   ARGV[7] now in ms, or ''   ARGV[8] rules
  ARGV[9] numbers of the shared limit, or ''   ARGV[10] what happens if a key is full: wait, refuse, replace (those that
  wait) or replace-running   ARGV[11…] jobs, three each: input, options as JSON or '', key
  Returns the id of the last job; the others precede it without a gap. If the call is refused, it creates nothing and
  returns { key, ms since 1970 from which that may start a job again, or '' }.

  The rules are stored unless the function has some. An error means that no job was created.
]]
-- include calls: call, try
-- include clock: clock
-- include end-refusal: end_refusal
-- include limit-refusal: limit_refusal, shared_by
-- include limits: open_limits
-- include mark: mark_of
-- include refusals: refusal_of
-- include replace: is_full, replace, store_numbers
-- include sender: reserve_ids
-- include sent: earlier_reply
-- include tags: open_tags
-- include times: times_of
-- include with-expiry: with_expiry

local keys = {
  ids = KEYS[1], jobs = KEYS[2], locks = KEYS[3], leases = KEYS[4], channel = KEYS[5], cancel = KEYS[6], wake = KEYS[7],
  sender = KEYS[8], control = KEYS[9], limits = KEYS[10],
}
local created, memory, mark, due, priority = ARGV[1], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local rules, numbers, on_full, first = ARGV[8], ARGV[9], ARGV[10], 11
local now = clock(ARGV[7])
local jobs = (#ARGV - first + 1) / 3
local expires
if due ~= '' then due, expires = times_of(due, now) end
for i = first + 1, expires and #ARGV or 0, 3 do ARGV[i] = with_expiry(ARGV[i], expires) end

--- Input, options and key of one of these jobs, from 1.
local function job_of(i)
  local at = first + (i - 1) * 3
  return ARGV[at], ARGV[at + 1], ARGV[at + 2]
end

--- Returns an error reply if the user may not write all that these jobs need with these rules.
local function refusal_with(given)
  local replaces, replaced = on_full == 'replace' or on_full == 'replace-running', {}
  for i = first + 2, replaces and #ARGV or 0, 3 do replaced[#replaced + 1] = ARGV[i] end
  return refusal_of('HSET DEL', keys.jobs .. 'x') or refusal_of('INCRBY DECRBY', keys.ids) or refusal_of('SET DEL', keys.sender)
    or limit_refusal(keys.limits, given, replaced) or refusal_of('LLEN', keys.limits .. 'x') or refusal_of('EXISTS LPUSH', keys.wake)
    or (replaces and (end_refusal(keys, 'cancelled') or refusal_of('HGET', keys.jobs .. 'x')
      or refusal_of('LRANGE LTRIM SRANDMEMBER', keys.limits .. 'x') or refusal_of('ZREM', keys.leases)) or nil)
end

local stored = call('HMGET', keys.control, 'limit', 'override')
local refusal = refusal_with(stored[1] or rules) or refusal_of('HSETNX', keys.control)
local shared = numbers ~= '' and shared_by(rules)
if shared then refusal = refusal or refusal_of('HSETNX', 'shared-limit:' .. shared .. ':x') end
if refusal then return refusal end
local stores = try('HSETNX', keys.control, 'limit', rules)
if type(stores) == 'table' then return earlier_reply(keys.sender, ARGV[2], memory) or stores end
if stores == 1 or numbers ~= '' then store_numbers(rules, numbers) end
local limits = open_limits(keys, now, stored[1] or rules, stored[2])
if not limits then return redis.error_reply('ERR the rules in ' .. keys.control .. ' have another form') end
local last, known, sent = reserve_ids(keys.ids, jobs, keys.sender, ARGV[2], memory)
if sent then return sent end

local function id_of(i)
  return string.format('%.0f', last - jobs + i)
end

local tags = open_tags(keys.jobs)
for i = 1, jobs do
  local _, options = job_of(i)
  tags.add(id_of(i), options)
end

--- Undoes what was written for the jobs before this one.
local function undo(upto)
  tags.undo()
  for i = 1, upto do
    local id, _, _, key = id_of(i), job_of(i)
    if due == '' then try('LREM', limits.list_of(key, priority), 1, id) else pcall(limits.forget_time, key, id) end
    try('DEL', keys.jobs .. id)
  end
  if known then call('SET', keys.sender, known, 'EX', memory) else call('DEL', keys.sender) end
  call('DECRBY', keys.ids, jobs)
end

if on_full == 'refuse' then
  local more = {}
  for i = 1, jobs do
    local _, _, key = job_of(i)
    local full, time = is_full(limits, key, more[key] or 0)
    if full then
      undo(0)
      return { key, time and string.format('%.0f', time) or '' }
    end
    more[key] = (more[key] or 0) + 1
  end
end

local untagged = tags.write(due == '' and 0 or due * 1000 - now)
if untagged then
  undo(0)
  return untagged
end
--- Creates one of these jobs. Returns what it fails with, and how many jobs are then to be undone.
local function create(i)
  local id, input, options, key = id_of(i), job_of(i)
  if on_full == 'replace' or on_full == 'replace-running' then
    if is_full(limits, key, 0) then replace(limits, key, on_full == 'replace-running', id) end
  end
  local values = { 'input', input, 'status', 'idle', 'created', created, 'mark', mark_of(mark, i), 'key', key }
  local function add(field, value) values[#values + 1], values[#values + 2] = field, value end
  if options ~= '' then add('options', options) end
  if priority ~= 'normal' then add('queue', priority) end
  if due ~= '' then add('due', string.format('%.0f', due * 1000)) end
  local written = try('HSET', keys.jobs .. id, unpack(values))
  if type(written) == 'table' then return written, i - 1 end
  local queued = due == '' and limits.await_turn(key, priority, id, false) or due ~= '' and limits.await_time(key, id, due * 1000)
  if not queued or type(queued) == 'table' then error('not queued') end
end

for i = 1, jobs do
  -- Another program may have written to any of these keys, or a function whose name goes on as they do.
  local ok, failure, upto = pcall(create, i)
  if not ok then
    undo(i)
    return redis.error_reply('WRONGTYPE a key under ' .. keys.limits .. ' was not written for this function')
  elseif failure then
    undo(upto)
    return failure
  end
end
tags.clean()
for i = 1, jobs do try('PUBLISH', keys.channel, 'create:' .. id_of(i)) end
if (limits.freed or due ~= '') and try('EXISTS', keys.wake) == 0 then try('LPUSH', keys.wake, '1') end
return last
