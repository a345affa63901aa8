--[[
  Takes a schedule out of a queue of another system, and writes the batch of an import that it is, in one step.

  KEYS[1] journal   KEYS[2] schedules, by the time of the next job   KEYS[3] the schedule's hash   KEYS[4] delayed jobs   KEYS[5] hash of the next job
  ARGV[1] the import's name, if the journal is new   ARGV[2] the batch, as text   ARGV[3] the schedule   ARGV[4] its score
  ARGV[5] id of the next job if it goes with the schedule, or ''
  Returns as take.lua; nothing if the schedule has changed since it was read.
]]
local journal, schedules, schedule, delayed, job = unpack(KEYS)
local batch, id = ARGV[2], ARGV[5]

local known = redis.call('HMGET', journal, 'name', 'number', 'batch', 'taken')
if known[3] then return known end

local score = redis.call('ZSCORE', schedules, ARGV[3])
if not score or tonumber(score) ~= tonumber(ARGV[4]) then return {} end
if id ~= '' and not redis.call('ZSCORE', delayed, id) then return {} end
local number, name = string.format('%.0f', (tonumber(known[2]) or 0) + 1), known[1] or ARGV[1]
-- First, so that nothing is taken if the journal may not be written; and no batch, until all of it is taken.
redis.call('HSET', journal, 'name', name, 'number', number)
redis.call('ZREM', schedules, ARGV[3])
if id ~= '' then redis.call('ZREM', delayed, id) end
redis.call('HSET', journal, 'batch', batch, 'taken', '1')
redis.pcall('DEL', schedule)
if id ~= '' then redis.pcall('DEL', job, job .. ':logs') end
return { name, number, batch, '1' }
