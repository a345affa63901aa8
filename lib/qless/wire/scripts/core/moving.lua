-- include chunks
-- include leaving
-- include lock-lost
-- include forgiving
--- Takes a job out of where it was before it is put again; `old` are its priority, tags, queue, state, failure,
--- retries and worker.
local function move_out(jid, old, worker)
  local key, queue, state, owner = ql .. 'j:' .. jid, old[3], old[4], old[7]
  if queue and state ~= 'complete' then leave(jid, queue) end
  if owner and owner ~= '' then
    redis.call('ZREM', ql .. 'w:' .. owner .. ':jobs', jid)
    if owner ~= worker then lock_lost(jid, owner) end
  end
  if state == 'complete' then redis.call('ZREM', ql .. 'completed', jid) end
  if state == 'failed' then forgive(jid, queue, old[5]) end
  redis.call('HDEL', key, 'grace', 'scheduled')
end

--- Dependencies that are not in the new list.
local function drop_dependencies(jid, kept)
  local keep, dropped = {}, {}
  for _, on in ipairs(kept) do keep[on] = true end
  local key = ql .. 'j:' .. jid .. '-dependencies'
  for _, on in ipairs(redis.call('SMEMBERS', key)) do
    if not keep[on] then
      redis.call('SREM', ql .. 'j:' .. on .. '-dependents', jid)
      dropped[#dropped + 1] = on
    end
  end
  in_chunks('SREM', key, dropped)
end
