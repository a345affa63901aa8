--[[
  Creates jobs and puts their ids into a queue: the protocol's Client.run for many jobs at once.

  KEYS[1] ids   KEYS[2] prefix of the job hashes   KEYS[3] queue   KEYS[4] channel   KEYS[5] wake marker
  KEYS[6] what this sender's last call did
  ARGV[1] now in ms   ARGV[2] number of this call   ARGV[3] seconds it is scheduled for, or '' for a list
  ARGV[4] the jobs' own options as JSON, or ''   ARGV[5…] inputs
  Returns the id of the last job; the others precede it without a gap.

  Sent again after a lost reply it creates nothing and returns the same. A call that comes after a later one
  of its sender was given up, or sent again, on a connection that delivered it late: it creates nothing, and
  nobody reads its reply. The queue is written before the jobs: with a key of the wrong type none exists.
]]
local now, number, score, options, first = ARGV[1], ARGV[2], ARGV[3], ARGV[4], 5

local count = #ARGV - first + 1
local last = redis.call('INCRBY', KEYS[1], count)
local known = redis.call('SET', KEYS[6], number .. ':' .. string.format('%.0f', last), 'EX', '60', 'GET')
if known then
  local known_number, known_last = string.match(known, '^(%d+):(%d+)$')
  if tonumber(known_number) >= tonumber(number) then
    -- A write, so that a WAIT that follows waits for what came before it too.
    redis.call('SET', KEYS[6], known, 'EX', '60')
    redis.call('DECRBY', KEYS[1], count)
    return tonumber(known_last)
  end
end
local offset = last - count - first + 1

for from = first, #ARGV, 1000 do
  local ids = {}
  for i = from, math.min(from + 999, #ARGV) do
    if score ~= '' then ids[#ids + 1] = score end
    ids[#ids + 1] = string.format('%.0f', offset + i)
  end
  local queued = redis.pcall(score == '' and 'LPUSH' or 'ZADD', KEYS[3], unpack(ids))
  if type(queued) == 'table' and queued.err then
    redis.call('DEL', KEYS[6])
    return queued
  end
end

for i = first, #ARGV do
  local id = string.format('%.0f', offset + i)
  redis.call('HSET', KEYS[2] .. id, 'status', 'idle', 'input', ARGV[i], 'created', now)
  if score ~= '' then redis.call('HSET', KEYS[2] .. id, 'due', string.format('%.0f', score * 1000)) end
  if options ~= '' then redis.call('HSET', KEYS[2] .. id, 'options', options) end
  redis.call('PUBLISH', KEYS[4], 'create:' .. id)
end

if redis.call('EXISTS', KEYS[5]) == 0 then redis.call('LPUSH', KEYS[5], '1') end
return last
