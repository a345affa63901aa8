-- include arguments: strings

--- Tags a job, or renews the time of its tag; the count grows only for a new tag.
local function add_tag(jid, tag, now)
  if redis.call('ZADD', prefix .. 't:' .. tag, now, jid) == 1 then
    redis.call('ZINCRBY', prefix .. 'tags', 1, tag)
  end
end

local function remove_tag(jid, tag)
  if redis.call('ZREM', prefix .. 't:' .. tag, jid) == 0 then return end
  if tonumber(redis.call('ZINCRBY', prefix .. 'tags', -1, tag)) <= 0 then redis.call('ZREM', prefix .. 'tags', tag) end
end

--- Replaces a job's tags; tags that stay get a new time too.
local function retag(jid, old, new, now)
  local keep = {}
  for _, tag in ipairs(new) do
    keep[tag] = true
    add_tag(jid, tag, now)
  end
  for _, tag in ipairs(old and strings(old) or {}) do
    if not keep[tag] then remove_tag(jid, tag) end
  end
end
