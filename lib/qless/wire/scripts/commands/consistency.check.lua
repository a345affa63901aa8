--[=[
  consistency.check <now> [resolve [cursor]]

  Finds inconsistencies: ids in queues, locks, lists of workers, failures, complete jobs and tags whose job is gone or
  elsewhere; jobs that depend on one that is gone or complete; wrong counts of tags. With the word `resolve` they are repaired. A call checks about 500 ids.
  Returns {checked, problems: [{what, key, id}], cursor}; ask again with the cursor until it is "".
]=]
-- include limits: JOBS_A_CALL
-- include consistency-checks: all_sections
-- include rights: require_rights
-- include unblocking-rights: require_rights_to_unblock

local resolve, cursor = args[1], args[2] or ''
if cursor == '' then cursor = '0:0' end
if resolve and resolve ~= '' and resolve ~= 'resolve' then
  error('Check(): Arg "resolve" must be "resolve" or empty: ' .. resolve)
end
local section, offset = string.match(cursor, '^(%d+):(%d+)$')
section, offset = tonumber(section), tonumber(offset)
if not section then error('Check(): Arg "cursor" is none that was returned: ' .. cursor) end
resolve = resolve == 'resolve'
if resolve then
  require_rights_to_unblock()
  require_rights('HGET', 'LRANGE', 'LREM', 'SISMEMBER', 'SMEMBERS', 'ZCARD', 'ZRANGE', 'ZSCORE')
end

local sections = all_sections()
local checked, problems, budget = 0, {}, 2 * JOBS_A_CALL
while sections[section + 1] and checked < budget do
  local key, page, check, repair = unpack(sections[section + 1])
  local ids = page(key, offset, budget - checked)
  local removed = 0
  for _, id in ipairs(ids) do
    local what = check(key, id)
    if what then
      problems[#problems + 1] = { what = what, key = key, id = id }
      if resolve then removed = removed + (repair(key, id) or 1) end
    end
  end
  checked = checked + #ids
  if checked < budget then
    section, offset = section + 1, 0
  else
    offset = offset + #ids - removed
  end
end
cursor = sections[section + 1] and section .. ':' .. offset or ''
return cjson.encode({ checked = checked, problems = problems, cursor = cursor })
