--[[
  Creates jobs and queues their ids: the protocol's Client.run for many jobs at once.

  KEYS[1] ids   KEYS[2] prefix of the job hashes   KEYS[3] queue   KEYS[4] channel   KEYS[5] wake marker
  KEYS[6] the result of this sender's last call
  ARGV[1] now in ms   ARGV[2] number of this call   ARGV[3] seconds for which its result is kept   ARGV[4] mark
  ARGV[5] seconds it is scheduled for, or '' for a list   ARGV[6] options of all these jobs as JSON, '' for none, or '*'
  ARGV[7…] inputs; with '*' each is followed by the job's own options as JSON, or ''
  Returns the id of the last job; the others precede it without a gap.

  A call that is sent again after a lost reply creates nothing and returns the same result. If a call arrives after a
  later call of the same sender, its connection delivered it late and the sender no longer waits for it: it creates
  nothing.

  Commands that Redis may refuse come first, or their effects are undone: an error means that no job was created.
  A listener that gets a job's event finds the whole job: nothing else runs before the script has ended.
]]
local call, pcall = redis.call, redis.pcall
local ids, jobs, queue, channel, wake, sender = unpack(KEYS)
local now, number, memory, mark, score, shared, first = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], 7
local values_a_job = shared == '*' and 2 or 1

local count = (#ARGV - first + 1) / values_a_job
local last = call('INCRBY', ids, count)
local known = call('SET', sender, number .. ':' .. string.format('%.0f', last), 'EX', memory, 'GET')
if known then
  local known_number, known_last = string.match(known, '^(%d+):(%d+)$')
  if tonumber(known_number) >= tonumber(number) then
    -- This write makes a following WAIT cover the earlier call as well.
    call('SET', sender, known, 'EX', memory)
    call('DECRBY', ids, count)
    return tonumber(known_last)
  end
end

--- The id of one of these jobs, from 1.
local function id_of(i)
  return string.format('%.0f', last - count + i)
end

local function failed(reply)
  return type(reply) == 'table' and reply.err
end

--- Undoes what was written. The newest id of a list is at its front.
local function refuse(failure, is_queued, written)
  for i = count, 1, -1 do
    if is_queued and score == '' then pcall('LREM', queue, 1, id_of(i)) end
    if is_queued and score ~= '' then pcall('ZREM', queue, id_of(i)) end
    if i <= written then pcall('DEL', jobs .. id_of(i)) end
  end
  if known then call('SET', sender, known, 'EX', memory) else call('DEL', sender) end
  return failure
end

local told = pcall('PUBLISH', channel, 'create:' .. id_of(1))
if failed(told) then return refuse(told, false, 0) end

for from = 1, count, 1000 do
  local entries = {}
  for i = from, math.min(from + 999, count) do
    if score ~= '' then entries[#entries + 1] = score end
    entries[#entries + 1] = id_of(i)
  end
  local queued = pcall(score == '' and 'LPUSH' or 'ZADD', queue, unpack(entries))
  if failed(queued) then return refuse(queued, false, 0) end
end

local fields = { 'status', 'idle', 'created', now, 'mark', mark }
if score ~= '' then fields[7], fields[8] = 'due', string.format('%.0f', score * 1000) end
local options_at = #fields + 2
if values_a_job == 1 and shared ~= '' then fields[options_at - 1], fields[options_at] = 'options', shared end

for i = 1, count do
  local id, input = id_of(i), first + (i - 1) * values_a_job
  if values_a_job == 2 then
    local has_options = ARGV[input + 1] ~= ''
    fields[options_at - 1], fields[options_at] = has_options and 'options' or nil, has_options and ARGV[input + 1] or nil
  end
  local written = pcall('HSET', jobs .. id, 'input', ARGV[input], unpack(fields))
  if failed(written) then return refuse(written, true, i - 1) end
  if i > 1 then call('PUBLISH', channel, 'create:' .. id) end
end

if pcall('EXISTS', wake) == 0 then pcall('LPUSH', wake, '1') end
return last
