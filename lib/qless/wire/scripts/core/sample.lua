-- include bins
--- Adds one sample in seconds to a queue's wait or run statistics.
local function record_one(kind, queue, now, sample)
  local key, bin = samples_key(kind, queue, now), bin_of(sample)
  local known = redis.call('HMGET', key, 'total', 'mean', 'vk', bin)
  local total, mean, vk =
    add_sample(tonumber(known[1]) or 0, tonumber(known[2]) or 0, tonumber(known[3]) or 0, sample)
  redis.call('HSET', key, 'total', total, 'mean', mean, 'vk', vk, bin, (tonumber(known[4]) or 0) + 1)
  if not known[1] then
    -- include expiring-samples
    expire_samples(kind, queue, now, key)
  end
end
