local ARGUMENTS = { HMGET = { 'x' }, HSET = { 'x', 'x' }, EXPIRE = { '1' }, ZADD = { '1', 'x' } }

--- An error reply that names the first of these commands to which the user has no right, if there is any: to be asked
--- before anything is written, since rights may be taken away under way. Servers before Redis 7 can't tell.
local function missing_right(commands, key)
  if not redis.acl_check_cmd then return nil end
  for _, command in ipairs(commands) do
    if not redis.acl_check_cmd(command, key, unpack(ARGUMENTS[command])) then
      return redis.error_reply('NOPERM this user has no right to ' .. command .. ' ' .. key)
    end
  end
end
