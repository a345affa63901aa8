--[[
  Deletes the journal of an import that has no batch.

  KEYS[1] journal   ARGV[1] name of the import
  Returns 1, or 0 if it has one, or is that of another import.
]]
local known = redis.call('HMGET', KEYS[1], 'name', 'batch')
if known[1] ~= ARGV[1] or known[2] then return 0 end
return redis.call('DEL', KEYS[1])
