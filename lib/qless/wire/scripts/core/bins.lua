-- include day
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

local function samples_key(kind, queue, now) return ql .. 's:' .. kind .. ':' .. day_of(now) .. ':' .. queue end
