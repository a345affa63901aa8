-- include rights: require_rights
-- include unblocking-rights: require_rights_to_unblock

--- What it needs to file a job as failed, with all that the configuration may want of that.
local function require_rights_to_fail()
  require_rights_to_unblock()
  require_rights('HGET', 'LINDEX', 'LPUSH', 'RPOP', 'RPUSH', 'SMEMBERS', 'ZINCRBY')
end
