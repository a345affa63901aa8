--[[
  layout  how the keys were arranged when a master last began: 2. Before that workers had no classes, and there were no
          heads of one name
]]
-- Needs context: write_though_full, prefix, settings, call, turn; lanes: stir, name_of, show; workers:
--   read_worker, offer; jobs: ops
-- Gives operations adopt

local LAYOUT = '2'

--- Converts, once, the data of masters of earlier versions. Returns 1.
function ops.adopt()
  if call('GET', prefix .. 'layout') == LAYOUT then return 1 end
  write_though_full()
  call('DEL', prefix .. 'free')
  for _, worker in ipairs(call('ZRANGE', prefix .. 'workers', 0, -1)) do
    local worker_row = read_worker(worker)
    if worker_row and not worker_row.lost then
      call('ZADD', prefix .. 'silent', 'NX', turn.now + settings.forget_worker, worker)
    end
    offer(worker)
  end
  local heads = call('ZRANGE', prefix .. 'heads', 0, -1, 'WITHSCORES')
  for i = 1, #heads, 2 do
    local lane = call('HGET', prefix .. 'job:' .. heads[i], 'lane')
    if lane then
      show(lane, heads[i], heads[i + 1])
      stir(name_of(lane))
    end
  end
  call('SET', prefix .. 'layout', LAYOUT)
  return 1
end
