--[[
  Creates jobs and puts their ids into a queue: the protocol's Client.run for many jobs at once.

  KEYS[1] ids   KEYS[2] prefix of the job hashes   KEYS[3] queue   KEYS[4] channel   KEYS[5] wake marker
  ARGV[1] now in ms   ARGV[2] seconds it is scheduled for, or '' for a list   ARGV[3…] inputs
  Returns the id of the last job; the others precede it without a gap.

  The queue is written first: a key of the wrong type fails before any job exists.
]]
local now, score, first = ARGV[1], ARGV[2], 3
local count = #ARGV - first + 1
local last = redis.call('INCRBY', KEYS[1], count)
local offset = last - count - first + 1

for from = first, #ARGV, 1000 do
  local ids = {}
  for i = from, math.min(from + 999, #ARGV) do
    if score ~= '' then ids[#ids + 1] = score end
    ids[#ids + 1] = string.format('%.0f', offset + i)
  end
  redis.call(score == '' and 'LPUSH' or 'ZADD', KEYS[3], unpack(ids))
end

for i = first, #ARGV do
  local id = string.format('%.0f', offset + i)
  redis.call('HSET', KEYS[2] .. id, 'status', 'idle', 'input', ARGV[i], 'created', now)
  if score ~= '' then redis.call('HSET', KEYS[2] .. id, 'due', string.format('%.0f', score * 1000)) end
  redis.call('PUBLISH', KEYS[4], 'create:' .. id)
end

if redis.call('EXISTS', KEYS[5]) == 0 then redis.call('LPUSH', KEYS[5], '1') end
return last
