-- include day: day_of
-- include sample-expiry: expire_samples

--- The histogram's bin: seconds of the first minute, minutes of the first hour, hours of the first day, days.
local function bin_of(seconds)
  if seconds < 60 then return 's' .. math.max(0, math.floor(seconds)) end
  if seconds < 3600 then return 'm' .. math.floor(seconds / 60) end
  if seconds < 86400 then return 'h' .. math.floor(seconds / 3600) end
  return 'd' .. math.floor(seconds / 86400)
end

--- Mean and variance as samples stream by (Welford): the number of samples, their mean, and vk.
local function add_sample(total, mean, vk, sample)
  total = total + 1
  local after = mean + (sample - mean) / total
  return total, after, vk + (sample - after) * (sample - mean)
end

local function samples_key(kind, queue, now) return prefix .. 's:' .. kind .. ':' .. day_of(now) .. ':' .. queue end

local function add_one(kind, queue, now, sample)
  local key, bin = samples_key(kind, queue, now), bin_of(sample)
  local known = redis.call('HMGET', key, 'total', 'mean', 'vk', bin)
  local total, mean, vk =
    add_sample(tonumber(known[1]) or 0, tonumber(known[2]) or 0, tonumber(known[3]) or 0, sample)
  redis.call('HSET', key, 'total', total, 'mean', mean, 'vk', vk, bin, (tonumber(known[4]) or 0) + 1)
  if not known[1] then
    expire_samples(kind, queue, now, key)
  end
end

local function add_all(kind, queue, now, samples)
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
    expire_samples(kind, queue, now, key)
  end
end

--- Adds one sample in seconds to a queue's wait or run statistics. They stop no call.
local function record_one(kind, queue, now, sample) pcall(add_one, kind, queue, now, sample) end

--- Adds samples in seconds to a queue's wait or run statistics. They stop no call.
local function record(kind, queue, now, samples) pcall(add_all, kind, queue, now, samples) end
