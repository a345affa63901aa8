-- include limits: JOBS_A_CALL
-- include cancellation: cancel_all, with_dependents
-- include stalled-jobs: stall
-- include config: setting
-- include chunks: in_chunks
-- include rights: require_rights

require_rights('DEL', 'EXISTS', 'HDEL', 'HGET', 'HMGET', 'HSET', 'LRANGE', 'LREM', 'RPUSH', 'SMEMBERS', 'SPOP',
  'SREM', 'UNLINK', 'ZADD', 'ZINCRBY', 'ZREM')

--- Removes from a set those of the list, and others up to so many in all.
local function take_members(set, jids, others)
  local found = {}
  for from = 1, #jids, 1000 do
    local part = { unpack(jids, from, math.min(from + 999, #jids)) }
    for i, is_member in ipairs(redis.call('SMISMEMBER', set, unpack(part))) do
      if is_member == 1 and #found < JOBS_A_CALL then found[#found + 1] = part[i] end
    end
  end
  in_chunks('SREM', set, found)
  if #found >= others then return found end
  for _, jid in ipairs(redis.call('SPOP', set, others - #found)) do found[#found + 1] = jid end
  return found
end

local function stall_deferred(jids, others)
  local found = take_members(prefix .. 'stalling', jids, others)
  if #found == 0 then return end
  local when, cap = tonumber(redis.call('GET', prefix .. 'stalling:since')) or 0, setting('max-job-history', 100)
  for _, jid in ipairs(found) do
    local job = redis.call('HMGET', prefix .. 'j:' .. jid, 'state', 'queue', 'worker')
    if job[1] == 'running' then stall(jid, job[2], job[3], when, cap) end
  end
  if redis.call('EXISTS', prefix .. 'stalling') == 0 then redis.call('DEL', prefix .. 'stalling:since') end
end

local function cancel_deferred(jids, others)
  local found = take_members(prefix .. 'cancelling', jids, others)
  if #found > 0 then cancel_all(found, with_dependents(found)) end
end
