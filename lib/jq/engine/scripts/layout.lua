--[[
  layout  how the keys were arranged when a master last began: 2. Before that workers had no classes, and there were no
          heads of one name
]]
local LAYOUT = '2'

--- Brings up to date what masters before this version have left, once. Returns 1.
function ops.adopt()
  if call('GET', P .. 'layout') == LAYOUT then return 1 end
  write_though_full()
  call('DEL', P .. 'free')
  for _, worker in ipairs(call('ZRANGE', P .. 'workers', 0, -1)) do
    local w = read_worker(worker)
    if w and not w.lost then call('ZADD', P .. 'silent', 'NX', now + settings.forget_worker, worker) end
    offer(worker)
  end
  local heads = call('ZRANGE', P .. 'heads', 0, -1, 'WITHSCORES')
  for i = 1, #heads, 2 do
    local lane = call('HGET', P .. 'job:' .. heads[i], 'lane')
    if lane then
      show(lane, heads[i], heads[i + 1])
      stir(name_of(lane))
    end
  end
  call('SET', P .. 'layout', LAYOUT)
  return 1
end
