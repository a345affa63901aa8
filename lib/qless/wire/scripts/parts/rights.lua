local checked = {}

--- Refuses the call if the user may not run all of these commands. Call this before the first write: rights may be revoked at
--- any time, and a call that stops in the middle would leave jobs in no list. Servers before Redis 7 can't tell.
local function require_rights(...)
  if not redis.acl_check_cmd then return end
  for _, command in ipairs({ ... }) do
    -- Some have two keys.
    if not checked[command] and not redis.acl_check_cmd(command, prefix, prefix) then
      error(redis.error_reply('NOPERM this user has no right to ' .. command .. ' ' .. prefix .. '*'))
    end
    checked[command] = true
  end
end
