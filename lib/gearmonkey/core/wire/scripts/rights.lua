-- Gives missing_right

--- Returns an error reply if the user may not run this command. Check this before any write, since rights may be revoked
--- at any time. Servers before Redis 7 can't tell.
local function missing_right(command, key, ...)
  if not redis.acl_check_cmd or redis.acl_check_cmd(command, key, ...) then return nil end
  return redis.error_reply('NOPERM this user has no right to ' .. command .. ' ' .. key)
end
