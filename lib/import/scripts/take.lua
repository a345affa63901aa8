--[[
  Takes jobs out of a queue of another system, and writes the batch of an import that they are, in one step.

  KEYS[1] journal   KEYS[2] list, sorted set or set of ids   KEYS[3] prefix of the jobs' hashes, or the hash of all jobs
  KEYS[4] a sorted set that has the ids as well
  ARGV[1] 'list', 'zset' or 'set'   ARGV[2] 'hashes' or 'fields'   ARGV[3] how far from the end of a list jobs are looked for
  ARGV[4] the import's name, if the journal is new   ARGV[5] the batch, as text   ARGV[6…] id, score and fingerprint of each job
  Returns name, number and batch of the journal, then for each job of the batch '1' if it was taken, or else '0'. A batch that was there
  before is returned in place of a new one. Returns nothing if no job was taken.

  A job is taken if it is where it was, and as it was: a worker or a producer may have changed it since. What was taken is
  marked, so that another job that gets its id is told from it.
]]
local journal, place, jobs, other = unpack(KEYS)
local kind, layout, depth, batch = ARGV[1], ARGV[2], ARGV[3], ARGV[5]

local known = redis.call('HMGET', journal, 'name', 'number', 'batch', 'taken')
if known[3] then return known end

local function is_as_it_was(id, fingerprint)
  if layout == 'fields' then
    local data = redis.call('HGET', jobs, id)
    return data and redis.sha1hex(data) == fingerprint
  end
  local values = redis.pcall('HMGET', jobs .. id, 'data', 'opts')
  return not values.err and values[1] and redis.sha1hex(values[1] .. '\0' .. (values[2] or '')) == fingerprint
end

--- A list may have an id twice.
local seen = {}

local function is_there(id, score)
  if seen[id] then return false end
  if kind == 'zset' then
    local now = redis.call('ZSCORE', place, id)
    return now and tonumber(now) == tonumber(score)
  elseif kind == 'set' then
    return redis.call('SISMEMBER', place, id) == 1
  end
  -- LREM alone would look through a long list for an id that is no longer in it.
  return redis.call('LPOS', place, id, 'RANK', -1, 'MAXLEN', depth)
end

local function remove(id)
  if kind == 'zset' then return redis.call('ZREM', place, id) end
  if kind == 'set' then return redis.call('SREM', place, id) end
  return redis.call('LREM', place, -1, id)
end

local number = string.format('%.0f', (tonumber(known[2]) or 0) + 1)
local name = known[1] or ARGV[4]
-- First, so that nothing is taken if the journal may not be written.
redis.call('HSET', journal, 'name', name, 'number', number)
local taken, any = {}, false
for i = 6, #ARGV, 3 do
  local id, score, fingerprint = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local takes = is_as_it_was(id, fingerprint) and is_there(id, score)
  taken[#taken + 1] = takes and '1' or '0'
  if takes then
    any, seen[id] = true, true
    if layout == 'hashes' then redis.call('HSET', jobs .. id, 'import', name .. ':' .. number) end
    remove(id)
    redis.pcall('ZREM', other, id)
  end
end
if not any then
  if not known[1] then redis.call('DEL', journal) end
  return {}
end
local flags = table.concat(taken)
redis.call('HSET', journal, 'batch', batch, 'taken', flags)
return { name, number, batch, flags }
