--[[
  Ends jobs of a flow that do not run, some in a call. From the first call on no job of the flow begins that waits for others.

  KEYS[1] flow   KEYS[2] list of its jobs
  ARGV[1] now in ms, or ''   ARGV[2] how many of its jobs were looked at before   ARGV[3] message   ARGV[4] error as JSON
  Returns how many jobs it has ended, how many were looked at, how many there are, then functions that have to be settled.
]]
-- include calls: call, try
-- include cancel-job: cancel_job
-- include clock: clock
-- include flow-keys: keys_of, parse_entry
-- include flow-moves: move_refusal
-- include refusals: refusal_of

local flow, jobs, from, message, failure = KEYS[1], KEYS[2], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local now = clock(ARGV[1])
--- A list is searched for a job, which takes long if that is long.
local MOST_JOBS, MOST_SEARCHED = 100, 10

if not call('HMGET', flow, 'total')[1] then return { 0, 0, 0 } end
local entries = call('LRANGE', jobs, from, from + MOST_JOBS - 1)
for _, entry in ipairs(entries) do
  local id, _, fn = parse_entry(entry)
  local keys = id and keys_of(fn)
  local refusal = keys and (move_refusal(keys, id) or refusal_of('LREM', keys.normal))
  if refusal then return refusal end
end
-- Behind a first write that needs no memory a full one refuses no other.
call('HDEL', flow, 'none')
if from == 0 then call('HSET', flow, 'cancelled', '1') end
local ended, searched, settles = 0, 0, {}
local looked = 0
for _, entry in ipairs(entries) do
  if searched == MOST_SEARCHED then break end
  looked = looked + 1
  local id, mark, fn = parse_entry(entry)
  local keys = id and keys_of(fn)
  local job = keys and try('HMGET', keys.jobs .. id, 'status', 'after') or {}
  if job[1] == 'idle' then
    keys.has_flows = true
    if not job[2] then searched = searched + 1 end
    local came = cancel_job(keys, now, id, mark, message, failure, true)
    if type(came) == 'table' then return came end
    if came == 'cancelled' then
      ended, settles[fn] = ended + 1, true
    end
  end
end
local reply = { ended, from + looked, call('LLEN', jobs) }
for fn in pairs(settles) do reply[#reply + 1] = fn end
return reply
