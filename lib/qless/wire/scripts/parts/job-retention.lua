-- include deletion: delete_jobs
-- include chunks: in_chunks

--- Deletes jobs that were complete by `history`, and those beyond `count`: up to `limit`; the next call continues.
local function delete_excess(history, count, limit)
  local key = prefix .. 'completed'
  local gone = redis.call('ZRANGEBYSCORE', key, '-inf', history, 'LIMIT', 0, limit)
  local excess = redis.call('ZCARD', key) - #gone - count
  if #gone < limit and excess > 0 then
    local last = math.min(#gone + excess, limit) - 1
    gone = redis.call('ZRANGE', key, 0, last)
  end
  if #gone == 0 then return end
  delete_jobs(gone)
  in_chunks('ZREM', key, gone)
end
