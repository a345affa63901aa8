--[=[
  track <now>
  track <now> track jid      track <now> untrack jid

  Returns without arguments {jobs, expired}: the tracked jobs, and the jids of those that are gone; otherwise 1 where
  that changed something, 0 where not. Errors: Job does not exist, Unknown action "<action>".
]=]
-- include refusals: refuse
-- include tracked-events: publish_tracked
-- include job-json: jobs_json
-- include job-list: job_list

if not args[1] then
  local jids = redis.call('ZRANGE', prefix .. 'tracked', 0, -1)
  local texts, found = job_list(jids)
  local expired = {}
  for _, jid in ipairs(jids) do
    if not found[jid] then expired[#expired + 1] = jid end
  end
  return '{"jobs":' .. jobs_json(texts) .. ',"expired":' .. cjson.encode(expired) .. '}'
end
local action, jid = string.lower(args[1]), args[2]
if not jid then error('Track(): Arg "jid" missing') end
if action ~= 'track' and action ~= 'untrack' then error('Track(): Unknown action "' .. args[1] .. '"') end
if redis.call('EXISTS', prefix .. 'j:' .. jid) == 0 then return refuse('JOB_NOT_FOUND', 'Track(): Job does not exist') end
publish_tracked(action, jid)
if action == 'track' then return tostring(redis.call('ZADD', prefix .. 'tracked', now, jid)) end
return tostring(redis.call('ZREM', prefix .. 'tracked', jid))
