--- Whether any of the jobs, 1,000 at most, depends on others or has others depend on it. Most don't.
local function any_linked(jids)
  local keys = {}
  for i, jid in ipairs(jids) do
    keys[2 * i - 1], keys[2 * i] = prefix .. 'j:' .. jid .. '-dependents', prefix .. 'j:' .. jid .. '-dependencies'
  end
  return redis.call('EXISTS', unpack(keys)) > 0
end
