-- Gives EXPIRES, expire, expire_waiting
-- include calls: call, try
-- include finish: finish
-- include foreign: count

--- In the options of a job that expires.
local EXPIRES = '"expires":'

--- Ends a job that no handler has run (claims that were released don't count) and whose time has passed. Returns the ms
--- until then, 0 if it has ended, or -1 if it will not expire, or may not be ended. `keys.is_alone`: this is the script's first
--- write, which then uses no memory, so that Redis allows the others even if its memory is full. `keys.refusal`: the error reply
--- that is returned in place of ending it.
local function expire(keys, id, now)
  local job = call('HMGET', keys.jobs .. id, 'options', 'attempts', 'snoozes')
  -- A quote inside a text of the JSON follows a backslash, so no header matches.
  local expiry = tonumber(string.match(job[1] or '', EXPIRES .. '(%d+)'))
  if not expiry or count(job[2]) > 0 or count(job[3]) > 0 then return -1 end
  if now < expiry then return math.ceil(expiry - now) end
  if keys.refusal then return keys.refusal end
  local text = 'expired: no worker began it in time'
  local failure = '{"name":"JobExpiredError","code":"JOB_EXPIRED","message":"' .. text .. '"}'
  if keys.is_alone then try('EXPIRE', keys.locks .. id, '10') end
  return finish(keys, id, string.format('%.0f', now), '', '', 'error', text, 'error', failure) and 0 or -1
end

--- The same for a job that waits. Its id stays in its queue, where the worker that takes it finds it finished; until then its
--- field `queued` is 1. One that waits for others (`after`) is in `scheduled`, at a time that never comes.
local function expire_waiting(keys, id, now, after)
  local left = expire(keys, id, now)
  if left == 0 and after then
    try('ZREM', 'queue:' .. string.sub(keys.jobs, #'job:' + 1, -2) .. ':scheduled', id)
  elseif left == 0 then
    try('HSET', keys.jobs .. id, 'queued', '1')
  end
  return left
end
