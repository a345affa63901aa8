--[[
  Reads a job without its payloads. Writes nothing.

  KEYS[1] prefix of the job hashes
  ARGV[1] id   ARGV[2] the most bytes of a field
  Returns three for each field: its name, its length, and its beginning; '' for one that is longer than 4 MiB or follows 4 MiB
  of others, for `input`, and for `output` unless that is the only word on why the job failed. Nothing if there is no job, or one
  of a flow that is still being created.
]]
-- include calls: call
-- include reads: read
-- include unbegun: is_unbegun

local MOST_FIELDS, MOST_LENGTH = 10000, 4194304
local key, most = KEYS[1] .. ARGV[1], tonumber(ARGV[2])
local names = read({}, 'HRANDFIELD', key, MOST_FIELDS)
if #names == 0 then return {} end
table.sort(names)

local job = call('HMGET', key, 'status', 'error', 'after', 'flow')
if is_unbegun(job[3], job[4]) then return {} end
local tells_why = job[1] == 'error' and not job[2]
local reply, left = {}, MOST_LENGTH
for _, name in ipairs(names) do
  local length, value = call('HSTRLEN', key, name), ''
  local is_payload = name == 'input' or (name == 'output' and not tells_why)
  if not is_payload and length <= MOST_LENGTH and left > 0 then
    value = string.sub(call('HMGET', key, name)[1], 1, most)
    left = left - #value
  end
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = name, length, value
end
return reply
