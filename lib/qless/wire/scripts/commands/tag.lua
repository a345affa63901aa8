--[=[
  tag <now> add jid tag…          tag <now> remove jid tag…
  tag <now> get tag [offset [count=25]]
  tag <now> top [offset [count=25]]

  Returns for add and remove the job's tags as a JSON list; for get {total, jobs}, the jids in the order in which they
  were tagged; for top the tags of two jobs or more, the most used first. Errors: Job <jid> does not exist; more than
  1,000 tags in a call, or of a job.
]=]
-- include arguments: integer, strings
-- include refusals: refuse
-- include rights: require_rights

local command = args[1]
if not command then error('Tag(): Arg "command" must be "add", "remove", "get" or "top"') end

local function page(at)
  local offset, count = integer(args[at] or 0), integer(args[at + 1] or 25)
  if not offset then error('Tag(): Arg "offset" not a number: ' .. tostring(args[at])) end
  if not count then error('Tag(): Arg "count" not a number: ' .. tostring(args[at + 1])) end
  return offset, count
end

if command == 'add' or command == 'remove' then
  -- include limits: at_most, MOST_TAGS -- at the head +2 % of get
  -- include tags: add_tag, remove_tag -- at the head +5 % of get
  local jid = args[2]
  if not jid then error('Tag(): Arg "jid" missing') end
  at_most(MOST_TAGS, #args - 2, 'Tag', 'tags')
  local key = prefix .. 'j:' .. jid
  local stored = redis.call('HGET', key, 'tags')
  if not stored then return refuse('JOB_NOT_FOUND', 'Tag(): Job ' .. jid .. ' does not exist') end
  local named, kept, has = {}, {}, {}
  for i = 3, #args do named[args[i]] = true end
  for _, tag in ipairs(strings(stored) or {}) do
    has[tag] = true
    if command == 'add' or not named[tag] then kept[#kept + 1] = tag end
  end
  for i = 3, #args do
    if command == 'add' and not has[args[i]] then
      has[args[i]] = true
      kept[#kept + 1] = args[i]
    end
  end
  if command == 'add' then at_most(MOST_TAGS, #kept, 'Tag', 'tags') end
  require_rights('HSET', 'ZADD', 'ZINCRBY', 'ZREM')
  if command == 'add' then
    for tag in pairs(named) do add_tag(jid, tag, now) end
  else
    for tag in pairs(named) do remove_tag(jid, tag) end
  end
  local text = cjson.encode(kept)
  redis.call('HSET', key, 'tags', text)
  return text
elseif command == 'get' then
  if not args[2] then error('Tag(): Arg "tag" missing') end
  local offset, count = page(3)
  local key = prefix .. 't:' .. args[2]
  local jids = redis.call('ZRANGE', key, offset, offset + count - 1)
  return cjson.encode({ total = redis.call('ZCARD', key), jobs = jids })
elseif command == 'top' then
  local offset, count = page(2)
  return cjson.encode(redis.call('ZREVRANGEBYSCORE', prefix .. 'tags', '+inf', 2, 'LIMIT', offset, count))
end
error('Tag(): First argument must be "add", "remove", "get" or "top"')
