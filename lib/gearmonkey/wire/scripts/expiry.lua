--- When a job expires, in ms; nil if it doesn't. A quote inside a text of the JSON follows a backslash, so no header and
--- no other text matches.
local function expiry_of(options)
  return tonumber(string.match(options, '"expires":(%d+)'))
end

local EXPIRED = 'expired: no worker began it in time'
local EXPIRED_ERROR = cjson.encode({ name = 'JobExpiredError', code = 'JOB_EXPIRED', message = EXPIRED })

--- Ends a job that no worker began before it expired.
local function expire(keys, id, stamp)
  finish(keys, id, stamp, '', '', 'error', EXPIRED, 'error', EXPIRED_ERROR)
end

--- Whether no handler has run the job yet: claims that were released don't count.
local function is_unbegun(attempts, snoozes)
  return count(attempts) == 0 and count(snoozes) == 0
end
