-- Gives limit_refusal, shared_by
-- include calls: call
-- include refusals: refusal_of

--- The name of the shared limit that these rules name; nil if it is the function's own.
local function shared_by(rules)
  return string.match(rules or '', '^%d*:%d*:%d*:%a+:(.+)$')
end

--- Returns an error reply if the user may not write all that jobs of a limit need to wait for their key, to leave it and to let
--- others take its turn: without one of these a key or a job would be left where it is not found. `prefix` is that of the
--- function's limit. `keys` are those that may be free then: other functions of a shared limit wait for them as well.
local function limit_refusal(prefix, rules, keys)
  local shared = shared_by(rules)
  local ALL = 'ZADD ZREM ZSCORE ZREVRANGE EXISTS LPUSH LREM LINDEX SADD SREM SCARD HGET HDEL'
  local SHARED = ' ZRANGE SMEMBERS DEL'
  if not shared then return refusal_of(ALL, prefix .. 'x') end
  local space = 'shared-limit:' .. shared .. ':'
  local refusal = refusal_of(ALL .. SHARED, prefix .. 'x') or refusal_of('HMGET ' .. ALL .. SHARED, space .. 'x')
  for i = 1, refusal and 0 or #keys do
    for _, user in ipairs(call('SMEMBERS', space .. 'users:' .. keys[i])) do
      local other, wake = string.match(user, '^(.*)\n(.*)$')
      refusal = refusal or refusal_of('ZADD ZREVRANGE EXISTS', other .. 'x') or refusal_of('EXISTS LPUSH', wake)
    end
  end
  return refusal
end
