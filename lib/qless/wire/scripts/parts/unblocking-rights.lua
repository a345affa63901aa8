-- include rights: require_rights

local function require_rights_to_unblock()
  require_rights('EXISTS', 'HDEL', 'HMGET', 'HSET', 'RENAME', 'SADD', 'SPOP', 'SRANDMEMBER', 'SREM', 'SUNIONSTORE',
    'UNLINK',
    'ZADD', 'ZREM')
end
