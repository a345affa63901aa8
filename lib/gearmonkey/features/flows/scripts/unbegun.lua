-- Gives flow_key, is_unbegun
-- include calls: try

--- The key of a flow, "NAME:FN"; nil if it has another form.
local function flow_key(flow)
  local name, fn = string.match(flow or '', '^([%w-]+):(.+)$')
  return name and 'job:' .. fn .. ':flow:' .. name, name, fn
end

--- Flows by "NAME:FN": whether they have not begun.
local unbegun = {}

--- Whether a job belongs to a flow that is still being created, or never was: for all others such a job is not there yet.
--- `after` and `flow` are its fields. Without the right to read the flow it counts as any job that waits: settle-flows.lua
--- then puts off what follows from its end.
local function is_unbegun(after, flow)
  local key = after and flow and flow_key(flow)
  if not key then return false end
  if unbegun[flow] == nil then
    local state = try('HMGET', key, 'total')
    unbegun[flow] = not state.err and not state[1]
  end
  return unbegun[flow]
end
