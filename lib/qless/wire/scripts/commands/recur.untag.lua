--[=[
  recur.untag <now> jid tag…

  Future children no longer have these tags. Returns the tags as JSON. Error: Job <jid> does not exist.
]=]
-- include arguments: strings
-- include refusals: refuse

local jid = args[1]
if not jid then error('Untag(): Arg "jid" missing') end
local stored = redis.call('HGET', prefix .. 'r:' .. jid, 'tags')
if not stored then return refuse('JOB_NOT_FOUND', 'Untag(): Job ' .. jid .. ' does not exist') end
local named, kept = {}, {}
for i = 2, #args do named[args[i]] = true end
for _, tag in ipairs(strings(stored) or {}) do
  if not named[tag] then kept[#kept + 1] = tag end
end
local text = cjson.encode(kept)
redis.call('HSET', prefix .. 'r:' .. jid, 'tags', text)
return text
