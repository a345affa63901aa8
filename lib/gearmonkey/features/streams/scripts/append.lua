--[[
  Adds entries to what a running job streams, and drops the oldest ones of more than it keeps.

  KEYS[1] job hash   KEYS[2] leases   KEYS[3] list of the entries, the newest on the left   KEYS[4] progress channel
  ARGV[1] "id:token"   ARGV[2] output or log   ARGV[3] how many this claim has added before   ARGV[4] most entries that are kept
  ARGV[5] most bytes   ARGV[6] seconds until they expire   ARGV[7…] entries
  Returns 1, or 0 when the lease is no longer this worker's (nothing is written). A call that is sent again writes nothing.
]]
-- include calls: call, try
-- include rights: missing_right

local hash, list, kind = KEYS[1], KEYS[3], ARGV[2]
if not call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end

local token = string.match(ARGV[1], ':(%d+)$')
local by = token .. ':' .. string.format('%.0f', ARGV[3] + #ARGV - 6)
local known = call('HMGET', hash, kind .. ':by', kind .. ':bytes')
if known[1] == by then return 1 end

-- Written in part, entries would be written again with each repetition.
local refusal = missing_right('LLEN', list) or missing_right('RPOP', list) or missing_right('EXPIRE', list, '1')
  or missing_right('HINCRBY', hash, 'x', '1') or missing_right('HSET', hash, 'x', 'x')
if refusal then return refusal end

local bytes = tonumber(known[2]) or 0
for i = 7, #ARGV do
  if type(try('LPUSH', list, ARGV[i])) ~= 'number' then
    -- A write that uses no memory: after it Redis allows others even if its memory is full.
    call('EXPIRE', list, ARGV[6])
    call('LPUSH', list, ARGV[i])
  end
  bytes = bytes + #ARGV[i]
end
local length = call('LLEN', list)
while length > tonumber(ARGV[4]) or bytes > tonumber(ARGV[5]) do
  local dropped = call('RPOP', list)
  if not dropped then break end
  length, bytes = length - 1, bytes - #dropped
end
call('HINCRBY', hash, kind .. ':count', #ARGV - 6)
call('HSET', hash, kind .. ':by', by, kind .. ':bytes', bytes)
call('EXPIRE', list, ARGV[6])
try('PUBLISH', KEYS[4], ARGV[1] .. ':' .. kind)
return 1
