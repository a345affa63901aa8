--[[
  Says which jobs of a flow that has not begun wait for which, and which jobs it has.

  KEYS[1] flow   KEYS[2] list of its jobs
  ARGV[1] number of this part   ARGV[2] seconds for which a flow is kept that has not begun
  ARGV[3…] lists, one after the other: its key, how many entries follow, these, "ID:MARK:FN" each
  Returns 0. Parts come in order, as those of flow-jobs.lua.
]]
-- include calls: call
-- include flow-functions: note_function
-- include flow-part: begin_part, end_part, sent_part

local flow, jobs = KEYS[1], KEYS[2]
local part, kept = tonumber(ARGV[1]), ARGV[2]
local sent = sent_part(flow, part)
if sent then return sent end

--- Jobs that get a list. What follows from the end of one whose key was deleted by hand needs all of its lists.
local owners, at = {}, 3
while at <= #ARGV do
  owners[#owners + 1] = string.match(ARGV[at], '^(job:.+:%d+):%l+$')
  at = at + 2 + tonumber(ARGV[at + 1])
end
if #owners > 0 and call('EXISTS', unpack(owners)) < #owners then return redis.error_reply('FLOWLOST a job of this flow was deleted') end

begin_part(flow, part, kept)
at = 3
while at <= #ARGV do
  local list, count = ARGV[at], tonumber(ARGV[at + 1])
  call('RPUSH', list, unpack(ARGV, at + 2, at + 1 + count))
  local fn = string.match(list, '^job:(.+):%d+:parents$')
  for i = fn and at + 2 or at + 2 + count, at + 1 + count do note_function(fn, string.match(ARGV[i], '^%d+:%d*:(.+)$') or fn) end
  at = at + 2 + count
end
call('EXPIRE', jobs, kept)
return end_part(flow, 0)
