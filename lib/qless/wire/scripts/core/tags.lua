--- Tags a job, or says anew when it was tagged; the count grows only where it had not the tag.
local function add_tag(jid, tag, now)
  if redis.call('ZADD', ql .. 't:' .. tag, now, jid) == 1 then
    redis.call('ZINCRBY', ql .. 'tags', 1, tag)
  end
end

local function remove_tag(jid, tag)
  if redis.call('ZREM', ql .. 't:' .. tag, jid) == 0 then return end
  if tonumber(redis.call('ZINCRBY', ql .. 'tags', -1, tag)) <= 0 then redis.call('ZREM', ql .. 'tags', tag) end
end
