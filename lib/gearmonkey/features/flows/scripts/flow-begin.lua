--[[
  Begins a flow: its root may run, once the jobs that it waits for have succeeded. From then on the flow is whole.

  KEYS[1] flow   KEYS[2] list of its jobs   KEYS[3] prefix of the hashes of the root's function
  ARGV[1] number of this part   ARGV[2] now in ms, or ''   ARGV[3] id and mark of the root, "ID:MARK"   ARGV[4] how many jobs
  it has   ARGV[5…] jobs that the root waits for, "ID:MARK:FN" each
  Returns 0; or the place of the first of these that there is not, from 1: then the flow has not begun; or -1 if the root has
  ended at once: its function has to be settled.
]]
-- include attach: attach, attach_refusal, read_parents
-- include calls: call
-- include clock: clock
-- include flow-keys: keys_of
-- include flow-moves: activate, fail_with_parent, flow_turn, move_refusal
-- include flow-part: begin_part, end_part, sent_part
-- include refusals: refusal_of

local flow, part, kept = KEYS[1], tonumber(ARGV[1]), '3600'
local turn = flow_turn(clock(ARGV[2]))
local sent = sent_part(flow, part)
if sent then return sent end

local parents, unknown = read_parents({ unpack(ARGV, 5) })
if not parents then return unknown end
local k = keys_of(string.sub(KEYS[3], 5, -2))
local id = string.match(ARGV[3], '^(%d+):')
local root = k.jobs .. id
local job = call('HMGET', root, 'status', 'on-parent-error', 'place', 'options')
local refusal = refusal_of('HINCRBY PERSIST', flow) or refusal_of('PERSIST', KEYS[2])
  or move_refusal(k, id, job[3]) or attach_refusal(k, id, parents)
if refusal then return refusal end
begin_part(flow, part, kept)
call('PERSIST', flow)
call('PERSIST', KEYS[2])
for _, ends in ipairs({ 'done', 'failed' }) do call('HINCRBY', flow, ends, '0') end
local waits, why = attach(k, id, ARGV[3] .. ':' .. k.fn, parents)
if job[1] ~= 'idle' then
  -- Another program has ended or deleted it meanwhile.
  call('ZADD', k.members, '2', id)
  turn.touched[k.fn] = true
elseif why and job[2] ~= 'run' then
  fail_with_parent(turn, k, id, job[2], why)
elseif waits > 0 then
  call('HSET', root, 'after', waits)
else
  activate(turn, k, id, job[3], job[4])
end
-- Last, since a flow that has its total counts as begun, whatever becomes of this call.
return end_part(flow, turn.touched[k.fn] and -1 or 0, 'root', ARGV[3], 'total', ARGV[4])
