--[[
  Deletes the jobs of a batch that is in its functions, and the batch.

  KEYS[1] journal   KEYS[2] prefix of the jobs' hashes, or the hash of all jobs   KEYS[3] stream of events   KEYS[4] prefix of the
  keys of deduplication
  ARGV[1] name of the import   ARGV[2] number of the batch   ARGV[3] 'hashes' or 'fields'   ARGV[4] events that the stream keeps, '' for no stream
  ARGV[5…] ids
  Returns 1, or 0 if the journal has another batch by now, or none.

  Another job that got an id meanwhile stays: it lacks the mark.
]]
local journal, jobs, events, deduplication = unpack(KEYS)
local name, number, layout, most = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local known = redis.call('HMGET', journal, 'name', 'number', 'batch')
if known[1] ~= name or known[2] ~= number or not known[3] then return 0 end

local function finish(id)
  local key = jobs .. id
  local values = redis.pcall('HMGET', key, 'import', 'deid')
  if values.err or values[1] ~= name .. ':' .. number then return end
  if values[2] and redis.pcall('GET', deduplication .. values[2]) == id then redis.call('DEL', deduplication .. values[2]) end
  redis.call('DEL', key, key .. ':logs')
  if most ~= '' then redis.pcall('XADD', events, 'MAXLEN', '~', most, '*', 'event', 'removed', 'jobId', id) end
end

for i = 5, #ARGV do
  if layout == 'fields' then redis.call('HDEL', jobs, ARGV[i]) else finish(ARGV[i]) end
end
redis.call('HDEL', journal, 'batch', 'taken')
return 1
