--[[
  Begins a flow: its root may run, once the jobs that it waits for have succeeded. From then on the flow is whole.

  KEYS[1] flow   KEYS[2] list of its jobs   KEYS[3] prefix of the hashes of the root's function
  ARGV[1] number of this part   ARGV[2] now in ms, or ''   ARGV[3] id and mark of the root, "ID:MARK"   ARGV[4] how many jobs
  it has   ARGV[5…] jobs that the root waits for, "ID:MARK:FN" each
  Returns 0; or the place of the first of these that there is not, from 1: then the flow has not begun; or -1 if the root has
  ended at once: its function has to be settled.
]]
-- include clock
-- include finish
-- include flow-keys

local call, pcall = redis.call, redis.pcall
local flow, part, kept = KEYS[1], tonumber(ARGV[1]), '3600'
local now = clock(ARGV[2])
-- include flow-part
-- include flow-moves
-- include attach

local parents, unknown = read_parents({ unpack(ARGV, 5) })
if not parents then return unknown end
begin_part('0')
call('PERSIST', flow)
call('PERSIST', KEYS[2])
call('HSET', flow, 'root', ARGV[3], 'total', ARGV[4])
for _, ends in ipairs({ 'done', 'failed' }) do call('HINCRBY', flow, ends, '0') end
local k = keys_of(string.sub(KEYS[3], 5, -2))
local id = string.match(ARGV[3], '^(%d+):')
local waits, why = attach(k, id, ARGV[3] .. ':' .. k.fn, parents)
local job = call('HMGET', k.jobs .. id, 'status', 'on-parent-error', 'place', 'options')
if job[1] ~= 'idle' then
  -- Another program has ended or deleted it meanwhile.
  call('ZADD', k.members, '2', id)
  touched[k.fn] = true
elseif why and job[2] ~= 'run' then
  fail_with_parent(k, id, job[2], why)
elseif waits > 0 then
  call('HSET', k.jobs .. id, 'after', waits)
else
  activate(k, id, job[3], job[4])
end
if not touched[k.fn] then return 0 end
call('HSET', flow, 'result', '-1')
return -1
