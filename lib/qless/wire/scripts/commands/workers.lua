--[=[
  workers <now> [worker]

  Forgets workers that were not seen for max-worker-age seconds (up to 250 in one call; none of them is shown).
  Returns [{name, jobs, stalled}] with the latest seen first, or for one worker {jobs, stalled}, lists of jids.
]=]
-- include limits: JOBS_A_CALL
-- include config: setting
-- include chunks: in_chunks, unlink
-- include rights: require_rights

local age = setting('max-worker-age', 86400)
local key = prefix .. 'workers'
local gone = redis.call('ZRANGEBYSCORE', key, '-inf', now - age, 'LIMIT', 0, JOBS_A_CALL)
if #gone > 0 then
  require_rights('UNLINK', 'ZREM')
  in_chunks('ZREM', key, gone)
  for i, name in ipairs(gone) do gone[i] = prefix .. 'w:' .. name .. ':jobs' end
  unlink(gone)
end
if args[1] then
  local jobs = prefix .. 'w:' .. args[1] .. ':jobs'
  return cjson.encode({
    jobs = redis.call('ZREVRANGEBYSCORE', jobs, '+inf', now),
    stalled = redis.call('ZREVRANGEBYSCORE', jobs, now, '-inf'),
  })
end
local seen = redis.call('ZREVRANGEBYSCORE', key, '+inf', '(' .. string.format('%.17g', now - age))
for i, name in ipairs(seen) do
  local jobs = prefix .. 'w:' .. name .. ':jobs'
  seen[i] = {
    name = name,
    jobs = redis.call('ZCOUNT', jobs, now, '+inf'),
    stalled = redis.call('ZCOUNT', jobs, '-inf', now),
  }
end
return cjson.encode(seen)
