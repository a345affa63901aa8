--[[
  Finds the calls that the connection's user may not make. None of them is made.

  ARGV for each call: the number of its words, then the words
  Returns the indexes of the forbidden calls, from 1, negative ones for commands that the server doesn't have; none before
  Redis 7, where it can't tell.
]]
local refused = {}
if not redis.acl_check_cmd then return refused end
local at, number = 1, 0
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  number = number + 1
  local is_known, is_allowed = pcall(redis.acl_check_cmd, unpack(ARGV, at + 1, at + words))
  if not is_known then refused[#refused + 1] = -number elseif not is_allowed then refused[#refused + 1] = number end
  at = at + 1 + words
end
return refused
