--[=[
  progress <now> worker jid token dividend divisor

  Records a claimed job's progress in its history. Replaces the last item if that is progress too, so that many reports
  don't displace the other items.
  Returns 1, or 0 when the job is no longer the worker's: then nothing is written.
]=]
-- include number: number
-- include history: append_history, history_item
-- include claims: read_claim

local worker, jid, token, dividend, divisor = unpack(args)
if not number(dividend) or not number(divisor) then error('Progress(): Not a number: ' .. dividend .. '/' .. divisor) end
if not read_claim(jid, worker, token) then return 0 end
local item = history_item(now, 'progress', { dividend = number(dividend), divisor = number(divisor) })
local key = prefix .. 'j:' .. jid .. '-history'
if string.find(redis.call('LINDEX', key, -1) or '', '^%[%-?%d+,"progress",') then
  redis.call('LSET', key, -1, item)
else
  append_history(jid, item)
end
return 1
