--[[
  Creates a job that waits for others.

  KEYS[1] ids   KEYS[2] prefix of the job hashes   KEYS[3] scheduled   KEYS[4] members of flows
  KEYS[5] the result of this sender's last call
  ARGV[1] created, in ms   ARGV[2] number of this call   ARGV[3] seconds for which its result is kept   ARGV[4] mark
  ARGV[5] now in ms, or ''   ARGV[6] input   ARGV[7] options as JSON or ''   ARGV[8] place   ARGV[9] fail, run or cancel
  ARGV[10…] the jobs that it waits for, "ID:MARK:FN" each
  Returns its id; or, below 0, the place of the first of these that there is not, from 1: then nothing was created. A list of
  the id if the job has ended at once: its function has to be settled.

  It belongs to the flow of the first of them that has one. A call that is sent again creates nothing and returns the same.
]]
-- include attach: attach, attach_refusal, read_parents
-- include calls: call
-- include clock: clock
-- include flow-functions: note_function
-- include flow-keys: keys_of
-- include flow-moves: activate, cancel_with_flow, fail_with_parent, flow_turn, is_cancelled, move_refusal
-- include refusals: refusal_of
-- include sender: reserve_ids
-- include sent: earlier_reply
-- include tagged: may_have_tags
-- include tags: open_tags
-- include unbegun: flow_key

local ids, jobs, scheduled, members, sender = unpack(KEYS)
local number, memory, mark = ARGV[2], ARGV[3], ARGV[4]
local input, options, place, policy = ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local NEVER, turn = '9000000000', flow_turn(clock(ARGV[5]))

local sent = earlier_reply(sender, number, memory)
if sent then return sent end
local parents, unknown = read_parents({ unpack(ARGV, 10) })
if not parents then return -unknown end
local k = keys_of(string.sub(jobs, 5, -2))
local flow
for _, parent in ipairs(parents) do flow = flow or parent.flow end
local key, _, root = flow_key(flow)
if key and not call('HMGET', key, 'total')[1] then flow, key = nil, nil end
local refusal = move_refusal(k, 'x', place) or attach_refusal(k, 'x', parents)
if key then
  refusal = refusal or refusal_of('HINCRBY PERSIST', key) or refusal_of('PERSIST RPUSH', key .. ':jobs')
end
if refusal then return refusal end
local last, known, refused = reserve_ids(ids, 1, sender, number, memory)
if refused then return refused end

local id = string.format('%.0f', last)

local values = {
  'input', input, 'status', 'idle', 'created', ARGV[1], 'mark', mark, 'place', place, 'held', '0', 'settled', '0',
}
local function add(field, value) values[#values + 1], values[#values + 2] = field, value end
if options ~= '' then add('options', options) end
if policy ~= 'fail' then add('on-parent-error', policy) end
if flow then add('flow', flow) end
call('HSET', jobs .. id, unpack(values))
local tags = may_have_tags(options) and open_tags(jobs)
if tags then
  tags.add(id, options)
  local untagged = tags.write(0)
  if untagged then
    call('DEL', jobs .. id)
    if known then call('SET', sender, known, 'EX', memory) else call('DEL', sender) end
    return untagged
  end
end
if key then
  call('PERSIST', key)
  call('PERSIST', key .. ':jobs')
  call('HINCRBY', key, 'total', '1')
  call('RPUSH', key .. ':jobs', id .. ':' .. mark .. ':' .. k.fn)
  note_function(root, k.fn)
end
call('ZADD', scheduled, NEVER, id)
call('ZADD', members, '0', id)
local waits, why = attach(k, id, id .. ':' .. mark .. ':' .. k.fn, parents)
call('HSET', jobs .. id, 'after', waits)
if is_cancelled(turn, flow) then
  cancel_with_flow(turn, k, id)
elseif why and policy ~= 'run' then
  fail_with_parent(turn, k, id, policy, why)
elseif waits == 0 then
  activate(turn, k, id, place, options)
end
if tags then tags.clean() end
return turn.touched[k.fn] and { last } or last
