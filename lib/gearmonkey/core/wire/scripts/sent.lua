-- Gives known_result, earlier_reply
-- include calls: try
-- include refuses-writes: refuses_writes

--- The result of a sender's call, from what is remembered of it, if that is this call or a later one; otherwise nil. An error reply
--- if the server is to take no writes for now: after a failover another one answers, which may not have the jobs.
local function known_result(known, sender, number, memory)
  local known_number, result = string.match(known, '^(%d+):(.*)$')
  if tonumber(known_number) < tonumber(number) then return nil end
  -- This write makes a following WAIT cover the earlier call as well. It uses no memory.
  local kept = try('EXPIRE', sender, memory)
  if refuses_writes(kept, { 'READONLY', 'NOREPLICAS' }) then return kept end
  return result
end

--- The reply to a call if it was sent before: its jobs are there. The last id, nil if it was not, or an error as above.
local function earlier_reply(sender, number, memory)
  local known = try('GET', sender)
  local result = type(known) == 'string' and known_result(known, sender, number, memory) or nil
  if type(result) ~= 'string' then return result end
  return tonumber(string.match(result, '^%d+'))
end
