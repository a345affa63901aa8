--[[
  Finds jobs of a function by a tag, by a key or by their id. Writes nothing.

  KEYS[1] prefix of the job hashes   KEYS[2] control   KEYS[3] scheduled   KEYS[4] retries
  KEYS[5] the list of cancelled jobs   KEYS[6] tags   KEYS[7] unique keys
  ARGV[1] now in ms, or ''   ARGV[2] tag, key or id   ARGV[3] its text   ARGV[4] newest or oldest   ARGV[5] size
  ARGV[6] page: '' or what the last page returned   ARGV[7] 1 to read inputs and outputs
  Returns how many jobs there are in all, the next page or '', and for each job its id and a list of fields and values,
  with its state as the field `state`. Entries of jobs that are gone count for the first.

  With a key these are the jobs of this key of the limit that have not ended, and the last job with this unique key.
]]
-- include clock: clock
-- include job-fields: fields_of
-- include limit-prefix: limit_prefix
-- include limits: open_limits
-- include reads: read
-- include tag-entry: tag_entry

local now, by, text, newest = clock(ARGV[1]), ARGV[2], ARGV[3], ARGV[4] == 'newest'
local size, page, payloads = tonumber(ARGV[5]), ARGV[6], ARGV[7] == '1'
local keys = { jobs = KEYS[1], limits = limit_prefix(KEYS[1]), wake = '' }
local STATUSES = { idle = true, busy = true, success = true, error = true }
--- Most jobs of a list or a set of a key; how often more is read if jobs are gone.
local MOST_OF_KEY, MOST_ROUNDS = 500, 5

local control = read({}, 'HMGET', KEYS[2], 'limit', 'override')
local limits = control[1] and open_limits(keys, now, control[1], control[2])

local function state_of(id, fields)
  local status, key = fields[2], nil
  for i = 1, #fields, 2 do if fields[i] == 'key' then key = fields[i + 1] end end
  if status == 'busy' then return 'running' end
  if status == 'success' then return 'succeeded' end
  if status == 'error' then return read(false, 'ZSCORE', KEYS[5], id) and 'cancelled' or 'failed' end
  local retry = tonumber(read(false, 'ZSCORE', KEYS[4], id) or nil)
  if retry and retry > now then return 'retrying' end
  local due = read(false, 'ZSCORE', KEYS[3], id)
  if not due and key and limits then due = read(false, 'ZSCORE', keys.limits .. 'due', limits.entry_of(key, id)) end
  return due and 'scheduled' or 'waiting'
end

--- A source returns how many jobs there are, and a function for the ids behind a page: they are at most one more than `most`.
local function tagged()
  local first, last = '[' .. text .. '\0', '(' .. text .. '\1'
  local function behind(at, most)
    local entry = at ~= '' and '(' .. tag_entry(text, at)
    local entries
    if newest then
      entries = read({}, 'ZREVRANGEBYLEX', KEYS[6], entry or last, first, 'LIMIT', 0, most + 1)
    else
      entries = read({}, 'ZRANGEBYLEX', KEYS[6], entry or first, last, 'LIMIT', 0, most + 1)
    end
    for i, found in ipairs(entries) do entries[i] = string.sub(found, #text + 4) end
    return entries
  end
  return read(0, 'ZLEXCOUNT', KEYS[6], first, last), behind
end

--- Some ids of a set of a limit's key.
local function some_of(set)
  if read(0, 'SCARD', set) <= MOST_OF_KEY then return read({}, 'SMEMBERS', set) end
  return read({}, 'SRANDMEMBER', set, MOST_OF_KEY)
end

local function of_key()
  local found, ids = {}, {}
  local function add(id)
    if id and not found[id] then found[id], ids[#ids + 1] = true, id end
  end
  local entry = read({}, 'HMGET', KEYS[7], text)[1] or ''
  local unique, mark = string.match(entry, '^(%d+):(%d+)')
  if unique and read({}, 'HMGET', keys.jobs .. unique, 'mark')[1] == mark then add(unique) end
  if limits then
    for _, priority in ipairs(limits.PRIORITIES) do
      for _, id in ipairs(read({}, 'LRANGE', limits.list_of(text, priority), -MOST_OF_KEY, -1)) do add(id) end
    end
    for _, id in ipairs(some_of(keys.limits .. 'later:' .. text)) do add(id) end
    for _, member in ipairs(some_of(limits.space .. 'running:' .. text)) do
      if string.sub(member, 1, #limits.mark) == limits.mark then
        add(string.match(string.sub(member, #limits.mark + 1), '^(.*):%d+$'))
      end
    end
  end
  local function is_before(x, y)
    local a, b = tonumber(x) or 0, tonumber(y) or 0
    if a == b then return x < y end
    if newest then return a > b end
    return a < b
  end
  table.sort(ids, is_before)
  return #ids, function(at, most)
    local from = 1
    while at ~= '' and ids[from] and not is_before(at, ids[from]) do from = from + 1 end
    return { unpack(ids, from, math.min(#ids, from + most)) }
  end
end

local function by_id()
  return 1, function(at) return at == '' and { text } or {} end
end

local total, behind = ({ tag = tagged, key = of_key, id = by_id })[by]()
local reply, at, more, rounds = {}, page, true, 0
while more and #reply < 2 * size and rounds < MOST_ROUNDS do
  local most = size - #reply / 2
  local ids = behind(at, most)
  more, rounds = #ids > most, rounds + 1
  for i = 1, math.min(most, #ids) do
    at = ids[i]
    local job = fields_of(keys.jobs, at, STATUSES, payloads)
    if job then
      job[#job + 1], job[#job + 2] = 'state', state_of(at, job)
      reply[#reply + 1], reply[#reply + 2] = at, job
    end
  end
end
return { total, more and at or '', unpack(reply) }
