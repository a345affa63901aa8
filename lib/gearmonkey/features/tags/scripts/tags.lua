--- Puts new jobs into the index of tags, `tags:{FN}`.
-- Gives open_tags
-- include calls: try
-- include tag-entry: tag_entry
-- include tagged: may_have_tags

--- For the jobs of one call. The key is not one of the script's: users without tags have no right to it.
local function open_tags(jobs)
  local key, entries = 'tags:' .. string.sub(jobs, #'job:' + 1, -2), {}
  --- Members of a command; samples of a cleaning; the index is forgotten so long after its last job was created or is due.
  local PART, SAMPLE, KEPT_MS, DAY_MS = 2000, 1000, 2592000000, 86400000
  local known, tags

  local function add(id, options)
    if options ~= known then
      known, tags = options, may_have_tags(options) and cjson.decode(options).tags
    end
    if type(tags) ~= 'table' then return end
    for _, tag in ipairs(tags) do entries[#entries + 1] = tag_entry(tag, id) end
  end

  local function undo()
    for from = 1, #entries, PART do try('ZREM', key, unpack(entries, from, math.min(from + PART - 1, #entries))) end
  end

  local function outlive(wait)
    local left, wanted = try('PTTL', key), KEPT_MS + wait
    if type(left) == 'number' and left < wanted - DAY_MS then try('EXPIRE', key, string.format('%.0f', wanted / 1000)) end
  end

  --- Removes entries of jobs that are gone: looks at as many as were added, again while some of them are. So about half of
  --- all may be over at any time.
  local function clean()
    local size = math.min(#entries, SAMPLE)
    for _ = 1, math.max(10, 2 * #entries / SAMPLE) do
      local some, over = try('ZRANDMEMBER', key, size), {}
      if some.err then return end
      for _, entry in ipairs(some) do
        local id = string.match(entry, '^%Z*%z%d%d(.*)$')
        local job = id and try('HMGET', jobs .. id, 'status')
        if not id or (not job.err and not job[1]) then over[#over + 1] = entry end
      end
      if #over > 0 then try('ZREM', key, unpack(over)) end
      if #over * 8 < #some then return end
    end
  end

  --- Writes the entries; returns an error reply and leaves none if Redis refuses it. `wait`: ms until the jobs may run.
  local function write(wait)
    for from = 1, #entries, PART do
      local members = {}
      for i = from, math.min(from + PART - 1, #entries) do members[#members + 1], members[#members + 2] = '0', entries[i] end
      local added = try('ZADD', key, unpack(members))
      if type(added) == 'table' then
        undo()
        return added
      end
    end
    if #entries > 0 then outlive(math.max(0, wait)) end
  end

  return { add = add, write = write, undo = undo, clean = function() if #entries > 0 then clean() end end }
end
