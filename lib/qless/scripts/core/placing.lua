-- include work
--- Puts a job among those that depend, are scheduled or wait. Returns that state.
local function place(jid, queue, priority, now, due, blocked)
  if blocked then
    redis.call('ZADD', ql .. 'q:' .. queue .. '-depends', now, jid)
    return 'depends'
  elseif due then
    redis.call('ZADD', ql .. 'q:' .. queue .. '-scheduled', due, jid)
    wake(queue, 1)
    return 'scheduled'
  end
  add_work(queue, priority, now, jid)
  return 'waiting'
end
