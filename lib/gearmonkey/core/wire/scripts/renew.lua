--[[
  Extends the leases that are still held, and notes in each job who runs it.

  KEYS[1] leases   KEYS[2] prefix of the job hashes
  ARGV[1] now in ms, or ''   ARGV[2] length of a lease in ms   ARGV[3] worker, or ''   ARGV[4…] "id:token"
  Returns the members whose leases are lost. A lost lease is never restored.

  Its first write uses no memory: Redis then allows the others even if its memory is full. What it may not write, it must not
  remove either: a job that runs without a lease would never be recovered.
]]
-- include clock: clock

local expiry, worker = clock(ARGV[1]) + tonumber(ARGV[2]), ARGV[3]
local lost = {}

--- Most jobs end before their first renewal, so this costs them nothing. Without a right to it leases are renewed all the same.
local function note_worker(member)
  local id, token = string.match(member, '^(.*):(%d+)$')
  if not id then return end
  local known = redis.pcall('HMGET', KEYS[2] .. id, 'token', 'worker')
  local name = token .. ':' .. worker
  if known[1] == token and known[2] ~= name then redis.pcall('HSET', KEYS[2] .. id, 'worker', name) end
end

--- False if the lease is lost.
local function extend(member)
  if redis.call('ZADD', KEYS[1], 'XX', 'CH', expiry, member) == 1 then return true end
  -- It is lost, or was renewed in this millisecond.
  return redis.call('ZREM', KEYS[1], member) == 1 and redis.call('ZADD', KEYS[1], expiry, member)
end

redis.call('ZREM', KEYS[1], '')
for i = 4, #ARGV do
  if extend(ARGV[i]) then
    if worker ~= '' then note_worker(ARGV[i]) end
  else
    lost[#lost + 1] = ARGV[i]
  end
end
return lost
