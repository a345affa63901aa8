-- Gives limit_prefix

--- The prefix of a function's limit, from that of its job hashes. No key of its own: Redis demands rights to all keys of a
--- call, and programs of functions without a limit have none to this.
local function limit_prefix(jobs)
  return 'limit:' .. string.sub(jobs, #'job:' + 1)
end
