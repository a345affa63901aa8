--- By command. Scripts that are called less often than `claim` add what only they need.
local ARGUMENTS = { HMGET = { 'x' }, HSET = { 'x', 'x' }, EXPIRE = { '1' }, ZADD = { '1', 'x' } }

--- Returns an error reply for the first of these commands that the user may not run, if any. Check this before any write,
--- since rights may be revoked at any time. Servers before Redis 7 can't tell.
local function missing_right(commands, key)
  if not redis.acl_check_cmd then return nil end
  for _, command in ipairs(commands) do
    if not redis.acl_check_cmd(command, key, unpack(ARGUMENTS[command])) then
      return redis.error_reply('NOPERM this user has no right to ' .. command .. ' ' .. key)
    end
  end
end
