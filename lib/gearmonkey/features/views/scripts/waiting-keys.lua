-- Gives lists_of_keys
-- include calls: call

--- The lists in which jobs of keys of a limit wait, with their lengths. Looks at some hundred keys: more would block the
--- server.
local function lists_of_keys(limits)
  local MOST, keys = 100, limits.keys
  local found, lists = {}, {}
  local function add(key, priority)
    local list = limits.list_of(key, priority)
    if found[list] then return end
    found[list] = true
    local length = call('LLEN', list)
    if length > 0 then lists[#lists + 1] = { key = list, priority = priority, length = length } end
  end
  for _, priority in ipairs(limits.PRIORITIES) do
    for _, key in ipairs(call('ZRANGE', keys.limits .. 'ready:' .. priority, 0, MOST - 1)) do add(key, priority) end
  end
  for _, key in ipairs(call('ZRANGE', limits.space .. 'parked', 0, MOST - 1)) do
    for _, priority in ipairs(limits.PRIORITIES) do add(key, priority) end
  end
  return lists
end
