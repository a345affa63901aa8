--[[
  Creates jobs of a flow that has not begun. They wait in `scheduled`, at a time that never comes.

  KEYS[1] flow   KEYS[2] ids   KEYS[3] prefix of the job hashes   KEYS[4] scheduled   KEYS[5] members of flows
  ARGV[1] number of this part   ARGV[2] seconds for which a flow is kept that has not begun   ARGV[3] created, in ms
  ARGV[4] mark of the first   ARGV[5] the flow, "NAME:FN"
  ARGV[6…] jobs, six each: input, options as JSON or '', place, fail, run or cancel, how many jobs it waits for, how many
  wait for it
  Returns the id of the last job; the others precede it without a gap. Parts come in order: one that was sent before does
  nothing and returns the same, and if an earlier one was lost this is an error.

  Until flow-begin.lua nothing of the flow can run. If its client dies before, workers remove these jobs.
]]
-- include calls: call
-- include flow-functions: note_function
-- include flow-part: begin_part, end_part, sent_part
-- include mark: mark_of
-- include refusals: refusal_of
-- include tagged: may_have_tags
-- include tags: open_tags

local flow, ids, jobs, scheduled, members = unpack(KEYS)
local part, kept, created, mark, name = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local NEVER, first, VALUES = '9000000000', 6, 6
local count = (#ARGV - first + 1) / VALUES
local sent = sent_part(flow, part)
if sent then return sent end

local refusal = refusal_of('HSET', jobs .. 'x') or refusal_of('ZADD', scheduled) or refusal_of('ZADD', members)
if refusal then return refusal end
local last = call('INCRBY', ids, count)
begin_part(flow, part, kept)

local tags = open_tags(jobs)
local waiting, blocked = {}, {}
for i = 1, count do
  local id, at = string.format('%.0f', last - count + i), first + (i - 1) * VALUES
  local options, policy = ARGV[at + 1], ARGV[at + 3]
  local values = {
    'input', ARGV[at], 'status', 'idle', 'created', created, 'mark', mark_of(mark, i), 'flow', name, 'place', ARGV[at + 2],
    'after', ARGV[at + 4], 'held', ARGV[at + 5], 'settled', '0',
  }
  local function add(field, value) values[#values + 1], values[#values + 2] = field, value end
  if options ~= '' then add('options', options) end
  if policy ~= 'fail' then add('on-parent-error', policy) end
  call('HSET', jobs .. id, unpack(values))
  waiting[#waiting + 1], waiting[#waiting + 2] = NEVER, id
  blocked[#blocked + 1], blocked[#blocked + 2] = '0', id
  if may_have_tags(options) then tags.add(id, options) end
end
call('ZADD', scheduled, unpack(waiting))
call('ZADD', members, unpack(blocked))
note_function(string.match(name, ':(.+)$'), string.sub(jobs, #'job:' + 1, -2))
local untagged = tags.write(0)
if untagged then return untagged end
tags.clean()
return end_part(flow, last)
