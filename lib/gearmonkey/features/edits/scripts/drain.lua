--[[
  Ends jobs that wait in one queue, some hundred in a call. The caller calls until the cursor is 0.

  KEYS[1] prefix of the job hashes   KEYS[2] prefix of the locks   KEYS[3] channel   KEYS[4] queue
  ARGV[1] now in ms, or ''   ARGV[2] largest id that is ended: later jobs stay   ARGV[3] cursor, 0 at first
  ARGV[4] '' for a list; for `scheduled` which jobs: 'scheduled' (no handler has run them), 'retrying', or 'both'
  Returns the ids of the jobs that have ended, the next cursor, and 1 if settle-flows.lua has something to do.

  A list is popped from the end where old jobs are. What stays goes back to its place; these are jobs that came to this
  end since the drain began, such as those of a worker that died. A sorted set is scanned.

  The first write uses no memory: Redis then allows the others even if its memory is full.
]]
-- include calls: call, try
-- include clock: clock
-- include drained: fate, finish_drained
-- include end-refusal: end_refusal
-- include put-back: put_back
-- include refusals: refusal_of
-- include refuses-writes: refuses_writes

local queue, cursor, which = KEYS[4], ARGV[3], ARGV[4]
local keys = { jobs = KEYS[1], locks = KEYS[2], channel = KEYS[3] }
local STEP, MAX_KEPT = 250, 1000
local drain = { keys = keys, now = clock(ARGV[1]), last = tonumber(ARGV[2]), which = which, ended = {} }

local function drain_list()
  local kept, taken, ids = {}, 0, nil
  repeat
    ids = try('RPOP', queue, STEP)
    if refuses_writes(ids) then call('RPOP', queue, STEP) end
    if not ids or ids.err then ids = {} end
    for _, id in ipairs(ids) do
      local what = fate(drain, id)
      if what == 'stay' then kept[#kept + 1] = id else taken = taken + 1 end
      if what == 'end' then finish_drained(drain, id) end
    end
  until #ids < STEP or taken >= STEP or #kept >= MAX_KEPT
  if #kept > 0 then put_back(queue, kept, 1) end
  return (#ids < STEP or taken == 0) and '0' or '1'
end

local function drain_scheduled()
  local found = try('ZSCAN', queue, cursor, 'COUNT', STEP)
  if found.err then return '0' end
  local entries = found[2]
  for i = 1, #entries, 2 do
    local what = fate(drain, entries[i])
    if what ~= 'stay' then call('ZREM', queue, entries[i]) end
    if what == 'end' then finish_drained(drain, entries[i]) end
  end
  return found[1]
end

-- A drain takes a call for each queue: the first one has to find what others would lack.
local refusal = end_refusal(keys, 'cancelled') or refusal_of('RPOP RPUSH ZSCAN ZREM', queue)
if refusal then return refusal end
local next_cursor = which == '' and drain_list() or drain_scheduled()
return { drain.ended, next_cursor, keys.ended_in_flow and 1 or 0 }
