-- include bins
--- Adds samples in seconds to a queue's wait or run statistics.
local function record(kind, queue, now, samples)
  local key = samples_key(kind, queue, now)
  local fields, counts = { 'total', 'mean', 'vk' }, {}
  for _, sample in ipairs(samples) do
    local bin = bin_of(sample)
    if not counts[bin] then fields[#fields + 1] = bin end
    counts[bin] = (counts[bin] or 0) + 1
  end
  local known = redis.call('HMGET', key, unpack(fields))
  local total, mean, vk = tonumber(known[1]) or 0, tonumber(known[2]) or 0, tonumber(known[3]) or 0
  for _, sample in ipairs(samples) do total, mean, vk = add_sample(total, mean, vk, sample) end
  local written = { 'total', total, 'mean', mean, 'vk', vk }
  for i = 4, #fields do
    written[#written + 1] = fields[i]
    written[#written + 1] = (tonumber(known[i]) or 0) + counts[fields[i]]
  end
  redis.call('HSET', key, unpack(written))
  if not known[1] then
    -- include expiring-samples
    expire_samples(kind, queue, now, key)
  end
end
