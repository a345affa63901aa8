--[[
  Reads jobs of a queue of another system with what tells whether they have changed since.

  KEYS[1] list, sorted set or set of ids   KEYS[2] prefix of the jobs' hashes, or the hash of all jobs
  ARGV[1] 'list', 'zset' or 'set'   ARGV[2] 'hashes', or 'fields' if one hash has all jobs   ARGV[3] how many to skip, or a set's cursor
  ARGV[4] most jobs   ARGV[5] most bytes of a job's data   ARGV[6] bytes after which the page ends   ARGV[7…] fields to read beside `data` and `opts`
  Returns a set's next cursor, and five values for each job: id, score or '', state, fingerprint, fields. The
  state is 'read', 'gone', 'broken' for a key of another type, or 'large'; only those that are read have a fingerprint and fields,
  `data` and `opts` first. A field that is not there is nil.

  The jobs of a list come as workers take them, from its end. Large data is not read.
]]
local place, jobs = KEYS[1], KEYS[2]
local kind, layout, cursor, most, largest, unread = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
--- What follows the key of a job that has, or had, children.
local CHILDREN = { ':dependencies', ':processed', ':failed', ':unsuccessful' }

--- Ids and scores in turn, and where the next page begins.
local function page()
  local entries = {}
  if kind == 'list' then
    local ids = redis.call('LRANGE', place, -cursor - most, -cursor - 1)
    for i = #ids, 1, -1 do entries[#entries + 1], entries[#entries + 2] = ids[i], '' end
    return entries, ''
  elseif kind == 'zset' then
    return redis.call('ZRANGE', place, cursor, cursor + most - 1, 'WITHSCORES'), ''
  end
  local scanned = redis.call('SSCAN', place, cursor, 'COUNT', most)
  for _, id in ipairs(scanned[2]) do entries[#entries + 1], entries[#entries + 2] = id, '' end
  return entries, scanned[1]
end

local function of_hash(key)
  local size = redis.pcall('HSTRLEN', key, 'data')
  if type(size) == 'table' then return 'broken' end
  if size > largest then return 'large' end
  local values = redis.call('HMGET', key, 'data', 'opts', unpack(ARGV, 7))
  if not values[1] then return redis.call('EXISTS', key) == 1 and 'broken' or 'gone' end
  unread = unread - size - #(values[2] or '')
  local family = {}
  for i, suffix in ipairs(CHILDREN) do family[i] = key .. suffix end
  values[#values + 1] = redis.call('EXISTS', unpack(family))
  return 'read', redis.sha1hex(values[1] .. '\0' .. (values[2] or '')), values
end

local function of_field(id)
  local size = redis.call('HSTRLEN', jobs, id)
  if size > largest then return 'large' end
  local data = redis.call('HGET', jobs, id)
  if not data then return 'gone' end
  unread = unread - size
  return 'read', redis.sha1hex(data), { data }
end

local entries, next_cursor = page()
local found = {}
for i = 1, #entries, 2 do
  -- The entries of a set that are scanned do not come again.
  if unread <= 0 and kind ~= 'set' then break end
  local id = entries[i]
  local state, fingerprint, fields
  if layout == 'fields' then state, fingerprint, fields = of_field(id) else state, fingerprint, fields = of_hash(jobs .. id) end
  local at = #found
  found[at + 1], found[at + 2], found[at + 3], found[at + 4], found[at + 5] = id, entries[i + 1], state, fingerprint or '', fields or {}
end
return { next_cursor, found }
