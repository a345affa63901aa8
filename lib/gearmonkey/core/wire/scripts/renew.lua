--[[
  Extends the leases that are still held, and notes in each job who runs it.

  KEYS[1] leases   KEYS[2] prefix of the job hashes
  ARGV[1] now in ms, or ''   ARGV[2] length of a lease in ms   ARGV[3] worker, or ''   ARGV[4…] "id:token"
  Returns the members whose leases are lost. A lost lease is never restored.

  Its first write uses no memory: Redis then allows the others even if its memory is full.
]]
-- include clock: clock

local expiry, worker = clock(ARGV[1]) + tonumber(ARGV[2]), ARGV[3]
local lost = {}

--- Most jobs end before their first renewal, so this costs them nothing.
local function note_worker(member)
  local id, token = string.match(member, '^(.*):(%d+)$')
  if not id then return end
  local known = redis.pcall('HMGET', KEYS[2] .. id, 'token', 'worker')
  local name = token .. ':' .. worker
  if known[1] == token and known[2] ~= name then redis.call('HSET', KEYS[2] .. id, 'worker', name) end
end

for i = 4, #ARGV do
  if redis.call('ZREM', KEYS[1], ARGV[i]) == 1 then
    redis.call('ZADD', KEYS[1], expiry, ARGV[i])
    if worker ~= '' then note_worker(ARGV[i]) end
  else
    lost[#lost + 1] = ARGV[i]
  end
end
return lost
