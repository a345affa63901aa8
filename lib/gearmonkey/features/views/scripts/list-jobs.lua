--[[
  Reads a page of a function's jobs in one state. Writes nothing.

  KEYS[1] prefix of the job hashes   KEYS[2] control   KEYS[3] leases   KEYS[4] scheduled   KEYS[5] high   KEYS[6] normal
  KEYS[7] low   KEYS[8] retries   KEYS[9] the list of ended jobs
  ARGV[1] now in ms, or ''   ARGV[2] ms for which ended jobs are kept   ARGV[3] waiting, scheduled, retrying, running or
  ended   ARGV[4] newest or oldest   ARGV[5] size   ARGV[6] page: '' or what the last page returned   ARGV[7] 1 to read
  inputs and outputs   ARGV[8] the status that jobs of KEYS[9] have, or ''
  Returns how many jobs there are in all, the next page or '', and for each job its id and a list of fields and values.

  A page reads each list or sorted set from its own position "a:b": for a list a is how many are left out at its end; for
  a sorted set a is the last score, and b how many of that score are left out. So jobs that come and go meanwhile move no
  page of a sorted set. Lists are read near their ends only, since more would block the server.
]]
-- include calls: call
-- include clock: clock
-- include job-fields: fields_of
-- include kept: first_kept
-- include limit-prefix: limit_prefix
-- include limits: open_limits
-- include reads: read
-- include waiting-keys: lists_of_keys

local now, state, newest = clock(ARGV[1]), ARGV[3], ARGV[4] == 'newest'
local size, page, payloads, wanted = tonumber(ARGV[5]), ARGV[6], ARGV[7] == '1', ARGV[8]
local keys = { jobs = KEYS[1], limits = limit_prefix(KEYS[1]), wake = '' }
--- How far from its ends a list is read; how many running jobs are looked at; how often more is read if jobs are gone.
local DEEP, MOST_RUNNING, MOST_ROUNDS = 10000, 1000, 5

local control = read({}, 'HMGET', KEYS[2], 'limit', 'override')
local limits = control[1] and open_limits(keys, now, control[1], control[2])

--- A source has `total` and `window(a, b)`, which returns up to one more than `size` entries { id, rank }.
local function list_source(key)
  local function window(a)
    if a >= DEEP then return {} end
    local ids
    if newest then
      ids = read({}, 'LRANGE', key, a, a + size)
    else
      ids = read({}, 'LRANGE', key, -(a + size + 1), -(a + 1))
    end
    local entries = {}
    for i = 1, #ids do
      local id = ids[newest and i or #ids + 1 - i]
      entries[i] = { id, tonumber(id) or 0 }
    end
    return entries
  end
  return { total = read(0, 'LLEN', key), window = window }
end

--- The jobs that wait for the turns of their keys, list after list. They come after all others.
local function keyed_source()
  local lists, total = lists_of_keys(limits), 0
  for _, list in ipairs(lists) do total = total + list.length end
  local function window(a)
    local entries = {}
    for _, list in ipairs(a < DEEP and lists or {}) do
      if a < list.length and #entries <= size then
        local left = size - #entries
        local ids = newest and call('LRANGE', list.key, a, a + left) or call('LRANGE', list.key, -(a + left + 1), -(a + 1))
        for i = 1, #ids do entries[#entries + 1] = { ids[newest and i or #ids + 1 - i], newest and -1 or math.huge } end
      end
      a = math.max(0, a - list.length)
    end
    return entries
  end
  return { total = total, window = window }
end

--- @param first the lowest score   @param scale what makes milliseconds of scores   @param split finds the id of a member
local function set_source(key, first, scale, split)
  local least = tonumber(string.match(first, '^%((.*)$') or nil) or -math.huge
  --- Members from a score on, without `b` of that score. The server would walk past those: it finds a rank without that.
  local function members(a, b, begun)
    local score = string.format('%.17g', a)
    -- Some of those may be gone: no other is left out in their place.
    b = begun and math.min(b, read(0, 'ZCOUNT', key, score, score)) or 0
    if begun and newest then
      local rank = read(0, 'ZCOUNT', key, '(' .. score, '+inf') + b
      return read({}, 'ZREVRANGE', key, rank, rank + size, 'WITHSCORES')
    elseif begun then
      -- Not ZRANGE, to which a viewer has no right.
      local rank = read(0, 'ZCOUNT', key, '-inf', '(' .. score) + b
      local reply, turned = read({}, 'ZREVRANGE', key, -(rank + size + 1), -(rank + 1), 'WITHSCORES'), {}
      for i = #reply - 1, 1, -2 do turned[#turned + 1], turned[#turned + 2] = reply[i], reply[i + 1] end
      return turned
    elseif newest then
      return read({}, 'ZREVRANGEBYSCORE', key, '+inf', first, 'WITHSCORES', 'LIMIT', 0, size + 1)
    end
    return read({}, 'ZRANGEBYSCORE', key, first, '+inf', 'WITHSCORES', 'LIMIT', 0, size + 1)
  end
  local function window(a, b, begun)
    local reply, entries = members(a, b, begun), {}
    for i = 1, #reply, 2 do
      local score = tonumber(reply[i + 1])
      local id = split and split(reply[i]) or reply[i]
      if score > least then entries[#entries + 1] = { id, score * (scale or 1), score } end
    end
    return entries
  end
  return { total = read(0, 'ZCOUNT', key, first, '+inf'), window = window }
end

--- Leases are renewed all the time, so that their order changes: these are sorted by id.
local function running_source()
  local members = read({}, 'ZRANGEBYSCORE', KEYS[3], '-inf', '+inf', 'LIMIT', 0, MOST_RUNNING)
  local ids = {}
  for i, member in ipairs(members) do
    local id = string.match(member, '^(.*):%d+$') or member
    ids[i] = { id, tonumber(id) or 0 }
  end
  table.sort(ids, function(x, y)
    if x[2] == y[2] then return x[1] < y[1] end
    if newest then return x[2] > y[2] end
    return x[2] < y[2]
  end)
  return { total = read(0, 'ZCARD', KEYS[3]), window = function(a) return { unpack(ids, a + 1, math.min(#ids, a + 1 + size)) } end }
end

local after = string.format('(%.0f', now)
local sources, statuses = {}, { idle = true }
local function is_retry(id)
  return tonumber(read(false, 'ZSCORE', KEYS[8], id) or nil)
end

if state == 'waiting' then
  for i = 5, 7 do sources[#sources + 1] = list_source(KEYS[i]) end
  if limits then sources[#sources + 1] = keyed_source() end
elseif state == 'scheduled' then
  sources[1] = set_source(KEYS[4], '-inf', 1000)
  if limits then sources[2] = set_source(keys.limits .. 'due', '-inf', 1, limits.split_entry) end
elseif state == 'retrying' then
  sources[1] = set_source(KEYS[8], after)
elseif state == 'running' then
  sources[1], statuses = running_source(), { busy = true }
else
  sources[1], statuses = set_source(KEYS[9], first_kept(KEYS[9], now, ARGV[2])), { [wanted] = true }
end

local total, at = 0, {}
for i, source in ipairs(sources) do
  total = total + source.total
  at[i] = { 0, 0, false }
end
if state == 'scheduled' then total = math.max(0, total - read(0, 'ZCOUNT', KEYS[8], after, '+inf')) end
local from = 0
for a, b in string.gmatch(page, '([^,:]*):(%d+)') do
  from = from + 1
  if at[from] and tonumber(a) then at[from] = { tonumber(a), tonumber(b), true } end
end

--- Moves a source behind an entry.
local function pass(position, entry)
  if not entry[3] then
    position[1] = position[1] + 1
  elseif position[3] and position[1] == entry[3] then
    position[2] = position[2] + 1
  else
    position[1], position[2] = entry[3], 1
  end
  position[3] = true
end

--- The ids of the next jobs, and whether there are more.
local function take(most)
  local windows, next_of, ids = {}, {}, {}
  for i, source in ipairs(sources) do windows[i], next_of[i] = source.window(unpack(at[i])), 1 end
  while true do
    local best
    for i, window in ipairs(windows) do
      local entry, other = window[next_of[i]], best and windows[best][next_of[best]]
      if entry and (not other or (newest and entry[2] > other[2]) or (not newest and entry[2] < other[2])) then best = i end
    end
    if not best then return ids, false end
    if #ids == most then return ids, true end
    local entry = windows[best][next_of[best]]
    pass(at[best], entry)
    next_of[best] = next_of[best] + 1
    ids[#ids + 1] = entry[1] or ''
  end
end

local reply, more, rounds = {}, true, 0
while more and #reply < 2 * size and rounds < MOST_ROUNDS do
  local ids
  ids, more = take(size - #reply / 2)
  rounds = rounds + 1
  for _, id in ipairs(ids) do
    local due = state == 'scheduled' and is_retry(id)
    local job = not (due and due > now) and fields_of(keys.jobs, id, statuses, payloads)
    if job then reply[#reply + 1], reply[#reply + 2] = id, job end
  end
end

local positions = {}
for i, position in ipairs(at) do
  positions[i] = (position[3] and string.format('%.17g', position[1]) or '') .. ':' .. string.format('%.0f', position[2])
end
return { total, more and table.concat(positions, ',') or '', unpack(reply) }
