--[[
  A master's turn: what has fallen due, then the operations that came in, then what is handed out.

  KEYS[1] prefix of all keys and channels; it has a hash tag, so that a cluster keeps them together
  ARGV[1] now in ms, or '' for the server's clock   ARGV[2] settings as MessagePack   ARGV[3] a random number
  ARGV[4] '1' to see to what has fallen due, or '0'   ARGV[5] how many jobs to push at most
  ARGV[6…] operations: name, number of arguments, arguments
  Returns { reply of each operation }, { jobs to push }, { jobs whose limits are to be found anew }, ms until
  something falls due or -1, 1 when there is more to do at once, the tally of the turn,
  { workers to be asked whether they are there }.

  An operation that fails says so in its reply, and the others go on; where this is no master any more, all fail.
]]
-- Needs context: read_tally, forget_read, outlook, prefix, turn; room: note_keys; jobs: ops; dispatch: dispatch, tell_pullers; sweep:
--   sweep
-- include context

--- What operations use. A right may be revoked at any time, and one that is missed
--- between two writes would leave half an operation: then there is no turn. Servers before Redis 7 can't tell. PUBLISH is called by
--- pcall: what it tells is found out later without it.
local USED = {
  'DEL', 'EXISTS', 'GET', 'HDEL', 'HEXISTS', 'HGET', 'HGETALL', 'HINCRBY', 'HLEN', 'HMGET', 'HSET', 'INCR', 'PEXPIRE', 'RENAME',
  'SADD', 'SCARD', 'SET', 'SMEMBERS', 'SRANDMEMBER', 'SREM', 'ZADD', 'ZCARD', 'ZCOUNT', 'ZRANGE', 'ZRANGEBYSCORE', 'ZREM',
  'ZREMRANGEBYSCORE', 'ZREVRANGE', 'ZSCORE',
}
if redis.acl_check_cmd then
  local key, missing = prefix .. 'x', nil
  -- Some have two keys.
  for i = 1, #USED do if not redis.acl_check_cmd(USED[i], key, key) then missing = USED[i] end end
  if not redis.acl_check_cmd('ZUNIONSTORE', key, '1', key) then missing = 'ZUNIONSTORE' end
  if missing then return redis.error_reply('NOPERM this user has no right to ' .. missing .. ' ' .. prefix .. '*') end
end

-- The parts are in a function of their own, so that what they need of the context is an upvalue of that function. Lua
-- would search through all locals for each use of it in each part, every turn.
return (function()
-- include room
-- include lanes
-- include limits
-- include classes
-- include workers
-- include lifecycle
-- include selection
-- include dispatch
-- include jobs
-- include reports

--- Makes the operations that few turns have.
local function make_rare_operations()
-- include constraints
-- include administration
-- include layout
end

math.randomseed(tonumber(ARGV[3]))

local function run_operations()
  local replies, at = {}, 6
  while at <= #ARGV do
    local name, count = ARGV[at], tonumber(ARGV[at + 1])
    if not ops[name] then make_rare_operations() end
    local ok, reply = pcall(ops[name], unpack(ARGV, at + 2, at + 1 + count))
    if not ok then
      forget_read()
      local why = type(reply) == 'table' and reply.err or tostring(reply)
      if string.find(why, 'READONLY', 1, true) then error({ err = why }) end
      reply = { 'failed', why }
    end
    replies[#replies + 1] = reply
    at = at + 2 + count
  end
  return replies
end

if ARGV[4] ~= '0' then
-- include sweep
  sweep()
end
local replies = run_operations()
note_keys()
local handed_out = dispatch(tonumber(ARGV[5]))
tell_pullers()
return { replies, handed_out, turn.stale, outlook(), turn.more and 1 or 0, read_tally(), turn.probed }
end)()
