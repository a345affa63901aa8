--[[
  Reads what a job has streamed, from one of its entries on: at most 512 KiB.

  KEYS[1] job hash   KEYS[2] list of the entries, the newest on the left
  ARGV[1] output or log   ARGV[2] number of the first entry, from 0   ARGV[3] most entries
  Returns the number of the entry after those that follow, how many there have been in all, and entries, the oldest first.
  Entries that were dropped are passed over.
]]
local MOST = 524288
local kept = redis.call('LLEN', KEYS[2])
local total = math.max(kept, tonumber(redis.call('HMGET', KEYS[1], ARGV[1] .. ':count')[1]) or 0)
local oldest = total - kept
local from = math.max(tonumber(ARGV[2]), oldest)
local page, bytes = {}, 0
local last = math.min(from + tonumber(ARGV[3]), total) - 1
-- Counted from the right: the oldest is -1.
local entries = from <= last and redis.call('LRANGE', KEYS[2], oldest - last - 1, oldest - from - 1) or {}
for i = #entries, 1, -1 do
  if bytes >= MOST then break end
  page[#page + 1] = entries[i]
  bytes = bytes + #entries[i]
end
return { from + #page, total, unpack(page) }
