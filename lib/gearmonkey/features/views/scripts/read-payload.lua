--[[
  Reads the beginning of a job's input or output. Writes nothing.

  KEYS[1] prefix of the job hashes
  ARGV[1] id   ARGV[2] input or output   ARGV[3] the most bytes
  Returns its status, the length, and the beginning: '' if it is longer than 64 MiB, since copying it would block the server.
  Nothing if there is no such job or field, or the job is of a flow that is still being created.
]]
-- include calls: call
-- include reads: read
-- include unbegun: is_unbegun

local LARGEST = 67108864
local key, field, most = KEYS[1] .. ARGV[1], ARGV[2], tonumber(ARGV[3])
local job = read({}, 'HMGET', key, 'status', 'after', 'flow')
if is_unbegun(job[2], job[3]) then return {} end
local length = read(0, 'HSTRLEN', key, field)
if length == 0 and not read({}, 'HMGET', key, field)[1] then return {} end
local value = length > LARGEST and '' or call('HMGET', key, field)[1]
return { job[1] or '', length, string.sub(value, 1, most) }
