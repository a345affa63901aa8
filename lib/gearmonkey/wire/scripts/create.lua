--- Creates `count` jobs with the ids up to `last` and queues them; ends the script with an error if Redis refuses it, and
--- undoes what it wrote. Uses the script's keys, its arguments, `mark_of`, and `known`, the result of the sender's last call. `args`
--- has the inputs from `first` on; if `values_a_job` is 2 each is followed by the job's own options. `wait` is the ms until they may run.

--- The ids of these jobs as text, which takes Redis long to make.
local names = {}
for i = 1, count do names[i] = string.format(WHOLE, last - count + i) end

local function failed(reply)
  return type(reply) == 'table' and reply.err
end

local tags = (values_a_job == 2 or may_have_tags(shared)) and open_tags(jobs)
for i = 1, tags and count or 0 do tags.add(names[i], values_a_job == 2 and args[first + 2 * i - 1] or shared) end

--- Undoes what was written. The newest id of a list is at its front.
local function refuse(failure, is_queued, written)
  if tags then tags.undo() end
  for i = count, 1, -1 do
    if is_queued and score == '' then pcall('LREM', queue, 1, names[i]) end
    if is_queued and score ~= '' then pcall('ZREM', queue, names[i]) end
    if i <= written then pcall('DEL', jobs .. names[i]) end
  end
  if known then call('SET', sender, known, 'EX', memory) else call('DEL', sender) end
  return failure
end

local told = pcall('PUBLISH', channel, 'create:' .. names[1])
if failed(told) then return refuse(told, false, 0) end
local untagged = tags and tags.write(wait)
if untagged then return refuse(untagged, false, 0) end

for from = 1, count, 1000 do
  local entries = {}
  for i = from, math.min(from + 999, count) do
    if score ~= '' then entries[#entries + 1] = score end
    entries[#entries + 1] = names[i]
  end
  local queued = pcall(score == '' and 'LPUSH' or 'ZADD', queue, unpack(entries))
  if failed(queued) then return refuse(queued, false, 0) end
end

local fields = { 'status', 'idle', 'created', now, 'mark', '' }
if score ~= '' then fields[7], fields[8] = 'due', string.format('%.0f', score * 1000) end
local options_at = #fields + 2
if values_a_job == 1 and shared ~= '' then fields[options_at - 1], fields[options_at] = 'options', shared end

for i = 1, count do
  local id, input = names[i], first + (i - 1) * values_a_job
  if values_a_job == 2 then
    local has_options = args[input + 1] ~= ''
    fields[options_at - 1], fields[options_at] = has_options and 'options' or nil, has_options and args[input + 1] or nil
  end
  fields[6] = mark_of(i)
  local written = pcall('HSET', jobs .. id, 'input', args[input], unpack(fields))
  if failed(written) then return refuse(written, true, i - 1) end
  if i > 1 then call('PUBLISH', channel, 'create:' .. id) end
end

if tags then tags.clean() end
if pcall('EXISTS', wake) == 0 then pcall('LPUSH', wake, '1') end
