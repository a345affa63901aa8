-- include config: setting
-- include day: history_seconds, day_of

--- Once a day and queue: sets when summaries expire, and removes older histograms from them.
local function expire_samples(kind, queue, now, key)
  redis.call('EXPIRE', key, history_seconds('stats-history', 30))
  local bins = {}
  for i = 0, 59 do bins[#bins + 1] = 's' .. i end
  for i = 1, 59 do bins[#bins + 1] = 'm' .. i end
  for i = 1, 23 do bins[#bins + 1] = 'h' .. i end
  for i = 1, 6 do bins[#bins + 1] = 'd' .. i end
  local days = math.max(1, setting('histogram-history', 7))
  for ago = days + 1, days + 31 do
    redis.call('HDEL', prefix .. 's:' .. kind .. ':' .. day_of(now - ago * 86400) .. ':' .. queue, unpack(bins))
  end
end
