--[[
  Ends a job that no worker began before it expired, for a client that waits for it.

  KEYS[1] prefix of the job hashes   KEYS[2] prefix of the locks   KEYS[3] channel
  ARGV[1] now in ms, or ''   ARGV[2] id   ARGV[3] mark, or '' for any job with this id
  Returns the ms until it expires, 0 if it has finished, -1 if it will not expire, or -2 if it has ended now and settle-flows.lua
  has something to do.
]]
-- include calls: call
-- include clock: clock
-- include end-refusal: end_refusal
-- include expiry: expire_waiting
-- include refusals: refusal_of
-- include unbegun: is_unbegun

local id, mark = ARGV[2], ARGV[3]
local keys = { jobs = KEYS[1], locks = KEYS[2], channel = KEYS[3], is_alone = true }
local job = call('HMGET', KEYS[1] .. id, 'status', 'mark', 'after', 'flow')
if not job[1] or is_unbegun(job[3], job[4]) or (mark ~= '' and (job[2] or '0') ~= mark) then return -1 end
if job[1] == 'success' or job[1] == 'error' then return 0 end
if job[1] ~= 'idle' then return -1 end
keys.refusal = end_refusal(keys, 'failed')
  or refusal_of('ZREM', 'queue:' .. string.sub(KEYS[1], #'job:' + 1, -2) .. ':scheduled')
local left = expire_waiting(keys, id, clock(ARGV[1]), job[3])
if keys.ended_in_flow then return -2 end
return left
