-- include lost-locks: lock_lost
-- include failure-groups: remove_failure
-- include chunks: in_chunks

--- Removes a job from all sets of its queue.
local function leave(jid, queue)
  local key = prefix .. 'q:' .. queue
  redis.call('ZREM', key .. '-work', jid)
  redis.call('ZREM', key .. '-locks', jid)
  redis.call('ZREM', key .. '-scheduled', jid)
  redis.call('ZREM', key .. '-depends', jid)
end

--- Takes a job out of where it was before it is put again; `old` are its priority, tags, queue, state, failure,
--- retries and worker.
local function move_out(jid, old, worker)
  local key, queue, state, owner = prefix .. 'j:' .. jid, old[3], old[4], old[7]
  if queue and state ~= 'complete' then leave(jid, queue) end
  if owner and owner ~= '' then
    redis.call('ZREM', prefix .. 'w:' .. owner .. ':jobs', jid)
    if owner ~= worker then lock_lost(jid, owner) end
  end
  if state == 'complete' then redis.call('ZREM', prefix .. 'completed', jid) end
  if state == 'failed' then remove_failure(jid, queue, old[5]) end
  redis.call('HDEL', key, 'grace', 'scheduled')
end

--- Removes dependencies that are not in the new list.
local function drop_dependencies(jid, kept)
  local keep, dropped = {}, {}
  for _, on in ipairs(kept) do keep[on] = true end
  local key = prefix .. 'j:' .. jid .. '-dependencies'
  for _, on in ipairs(redis.call('SMEMBERS', key)) do
    if not keep[on] then
      redis.call('SREM', prefix .. 'j:' .. on .. '-dependents', jid)
      dropped[#dropped + 1] = on
    end
  end
  in_chunks('SREM', key, dropped)
end
