-- Gives refuses_writes

--- Whether a reply is the error of a server that takes no writes now, as while it fails over: the call has to fail as a whole, so
--- that it is sent again. Other errors are those of one key. `codes`: whether it is one of these errors.
local function refuses_writes(reply, codes)
  if type(reply) ~= 'table' or not reply.err then return false end
  for _, code in ipairs(codes or { 'READONLY', 'NOREPLICAS', 'MISCONF', 'OOM' }) do
    -- Older servers write their own words before it. Names of keys behind it may have the same letters.
    if string.find(reply.err, '^[^%u]*' .. code) then return true end
  end
  return false
end
