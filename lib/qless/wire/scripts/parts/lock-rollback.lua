-- include number: number

--- Returns jobs that could not be locked to those that wait.
local function put_back(queue, jobs)
  local key = prefix .. 'q:' .. queue
  for _, job in ipairs(jobs) do
    if not redis.call('ZSCORE', key .. '-locks', job[1]) then
      redis.call('ZADD', key .. '-work', (number(job[6]) or 0) - (number(job[14]) or now) / 10000000000, job[1])
      redis.call('HSET', prefix .. 'j:' .. job[1], 'state', 'waiting', 'worker', '', 'expires', 0)
    end
  end
end
