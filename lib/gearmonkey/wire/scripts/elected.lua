--- Whether `worker` holds the office at `key` for `hold` ms from now on; 0 gives it up. What no worker of ours wrote is
--- no holder: another type, or what would never expire.
local function elected(key, worker, hold)
  local holder = redis.pcall('GET', key)
  local is_other = type(holder) == 'string' and holder ~= worker
  if is_other and redis.call('PTTL', key) >= 0 then return false end
  if hold > 0 then
    redis.call('SET', key, worker, 'PX', string.format('%.0f', hold))
  elseif holder and not is_other then
    redis.call('DEL', key)
  end
  return hold > 0
end
