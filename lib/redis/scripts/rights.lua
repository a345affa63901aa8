--[[
  Which calls the caller's user has no right to. None of them is made.

  ARGV for each call: how many words it has, then the words
  Returns the numbers of those that it may not make, from 1; none where the server can't tell, before Redis 7.
]]
local refused = {}
if not redis.acl_check_cmd then return refused end
local at, number = 1, 0
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  number = number + 1
  if not redis.acl_check_cmd(unpack(ARGV, at + 1, at + words)) then refused[#refused + 1] = number end
  at = at + 1 + words
end
return refused
