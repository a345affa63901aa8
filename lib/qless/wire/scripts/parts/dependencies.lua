-- include chunks: in_chunks
-- include deferred-work: is_cancelling

--- The jobs of the list that exist and are not complete, except the job itself.
local function open_jobs(jid, list)
  local open = {}
  for from = 1, #list, 1000 do
    local part, keys = { unpack(list, from, math.min(from + 999, #list)) }, {}
    for i, on in ipairs(part) do keys[i] = prefix .. 'j:' .. on end
    local all = redis.call('EXISTS', unpack(keys)) == #keys
    local completed = redis.call('ZMSCORE', prefix .. 'completed', unpack(part))
    for i, on in ipairs(part) do
      local exists = on ~= jid and not completed[i] and (all or redis.call('EXISTS', keys[i]) == 1)
      if exists and not is_cancelling(on) then open[#open + 1] = on end
    end
  end
  return open
end

--- Makes a job depend on the listed jobs that exist and are not complete. Returns whether there were any.
local function depend(jid, list)
  local added = open_jobs(jid, list)
  if #added == 0 then return false end
  local unlocking = redis.call('EXISTS', prefix .. 'unlocking') == 1
  for _, on in ipairs(added) do
    redis.call('SADD', prefix .. 'j:' .. on .. '-dependents', jid)
    -- An earlier run of that job may be about to unblock this one, which must wait for the new run.
    if unlocking then redis.call('SREM', prefix .. 'unlocking:' .. on, jid) end
  end
  in_chunks('SADD', prefix .. 'j:' .. jid .. '-dependencies', added)
  return true
end
