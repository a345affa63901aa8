-- Gives create_jobs, undo_jobs
-- include calls: call, try
-- include mark: mark_of
-- include tagged: may_have_tags
-- include whole: WHOLE

--- Undoes what `create_jobs` wrote: whether the ids are queued, and how many hashes are written. Returns `failure`. The
--- newest id of a list is at its front.
local function undo_jobs(new, failure, is_queued, written)
  local _, jobs, queue, _, _, sender = unpack(KEYS)
  local score, names, known = new.score, new.names, new.known
  if new.tags then new.tags.undo() end
  for i = #names, 1, -1 do
    if is_queued and score == '' then try('LREM', queue, 1, names[i]) end
    if is_queued and score ~= '' then try('ZREM', queue, names[i]) end
    if i <= written then try('DEL', jobs .. names[i]) end
  end
  if known then call('SET', sender, known, 'EX', ARGV[3]) else call('DEL', sender) end
  return failure
end

--- Creates `count` jobs with the ids up to `last` and queues them. Returns nil, or the error with which Redis refuses it:
--- then nothing is left of them. KEYS 1 to 6 and ARGV 1 to 4 are those of enqueue.lua. `new` has
---   known                        the result of the sender's last call
---   args, first, values_a_job    inputs from `first` on; if there are 2 values, the job's own options follow
---   shared                       options of all these jobs, or ''
---   score, wait                  '' for a list, or seconds since 1970; the ms until they may run
--- and gets `names`, the ids as text, and `tags`.
local function create_jobs(last, count, new)
  local _, jobs, queue, channel, wake = unpack(KEYS)
  local args, first, values_a_job, shared, score = new.args, new.first, new.values_a_job, new.shared, new.score

  -- Redis takes long to make these texts.
  local names = {}
  for i = 1, count do names[i] = string.format(WHOLE, last - count + i) end
  new.names = names

  local tags
  if values_a_job == 2 or (shared ~= '' and may_have_tags(shared)) then
    -- include tags: open_tags -- at the head +1 % of a job without tags
    tags = open_tags(jobs)
    for i = 1, count do tags.add(names[i], values_a_job == 2 and args[first + 2 * i - 1] or shared) end
    new.tags = tags
  end

  local told = try('PUBLISH', channel, 'create:' .. names[1])
  if type(told) == 'table' then return undo_jobs(new, told, false, 0) end
  local untagged = tags and tags.write(new.wait)
  if untagged then return undo_jobs(new, untagged, false, 0) end

  for from = 1, count, 1000 do
    local entries = {}
    for i = from, math.min(from + 999, count) do
      if score ~= '' then entries[#entries + 1] = score end
      entries[#entries + 1] = names[i]
    end
    local queued = try(score == '' and 'LPUSH' or 'ZADD', queue, unpack(entries))
    if type(queued) == 'table' then return undo_jobs(new, queued, false, 0) end
  end

  local values = { 'status', 'idle', 'created', ARGV[1], 'mark', '' }
  if score ~= '' then values[7], values[8] = 'due', string.format('%.0f', score * 1000) end
  local options_at = #values + 2
  if values_a_job == 1 and shared ~= '' then values[options_at - 1], values[options_at] = 'options', shared end

  for i = 1, count do
    local id, input = names[i], first + (i - 1) * values_a_job
    if values_a_job == 2 then
      local has_options = args[input + 1] ~= ''
      values[options_at - 1], values[options_at] = has_options and 'options' or nil, has_options and args[input + 1] or nil
    end
    values[6] = mark_of(ARGV[4], i)
    local written = try('HSET', jobs .. id, 'input', args[input], unpack(values))
    if type(written) == 'table' then return undo_jobs(new, written, true, i - 1) end
    if i > 1 then call('PUBLISH', channel, 'create:' .. id) end
  end

  if tags then tags.clean() end
  if try('EXISTS', wake) == 0 then try('LPUSH', wake, '1') end
end
