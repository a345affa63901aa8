--[=[
  recur.tag <now> jid tag…

  Future children have these tags too. Returns the tags as JSON. Errors: Job <jid> does not exist; more than
  1,000 tags.
]=]
-- include arguments: strings
-- include refusals: refuse
-- include limits: at_most, MOST_TAGS

local jid = args[1]
if not jid then error('Tag(): Arg "jid" missing') end
local stored = redis.call('HGET', prefix .. 'r:' .. jid, 'tags')
if not stored then return refuse('JOB_NOT_FOUND', 'Tag(): Job ' .. jid .. ' does not exist') end
local tags, has = strings(stored) or {}, {}
for _, tag in ipairs(tags) do has[tag] = true end
for i = 2, #args do
  if not has[args[i]] then
    has[args[i]] = true
    tags[#tags + 1] = args[i]
  end
end
at_most(MOST_TAGS, #tags, 'Tag', 'tags')
local text = cjson.encode(tags)
redis.call('HSET', prefix .. 'r:' .. jid, 'tags', text)
return text
