--[=[
  stats <now> queue date

  The statistics of the day that `date` (seconds) is in. Jobs are counted by the day on which they were popped (wait)
  or completed (run).
  Returns {retries, failed, failures, wait, run}; wait and run are {count, mean, std, histogram}, std that of a sample,
  the histogram 60 bins of a second, 59 of a minute, 23 of an hour and 6 of a day.
]=]
-- include day: day_of
-- include number: number

local queue, date = args[1], number(args[2])
if not queue then error('Stats(): Arg "queue" missing') end
if not date then error('Stats(): Arg "date" missing or not a number: ' .. tostring(args[2])) end

local fields = { 'total', 'mean', 'vk' }
for i = 0, 59 do fields[#fields + 1] = 's' .. i end
for i = 1, 59 do fields[#fields + 1] = 'm' .. i end
for i = 1, 23 do fields[#fields + 1] = 'h' .. i end
for i = 1, 6 do fields[#fields + 1] = 'd' .. i end

local function summary(kind)
  local known = redis.call('HMGET', prefix .. 's:' .. kind .. ':' .. day_of(date) .. ':' .. queue, unpack(fields))
  local count, histogram = tonumber(known[1]) or 0, {}
  for i = 4, #fields do histogram[i - 3] = tonumber(known[i]) or 0 end
  return {
    count = count,
    mean = tonumber(known[2]) or 0,
    std = count > 1 and math.sqrt((tonumber(known[3]) or 0) / (count - 1)) or 0,
    histogram = histogram,
  }
end

local counters = redis.call('HMGET', prefix .. 's:stats:' .. day_of(date) .. ':' .. queue, 'retries', 'failed', 'failures')
return cjson.encode({
  retries = tonumber(counters[1]) or 0,
  failed = tonumber(counters[2]) or 0,
  failures = tonumber(counters[3]) or 0,
  wait = summary('wait'),
  run = summary('run'),
})
