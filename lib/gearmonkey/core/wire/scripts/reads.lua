-- Gives read
-- include calls: call, try

--- Reads a key that may have another type, which holds nothing: then this is `empty`.
local function read(empty, ...)
  local reply = try(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.find(reply.err, '^WRONGTYPE') then return empty end
  return call(...)
end
