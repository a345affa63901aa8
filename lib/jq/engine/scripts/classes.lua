--[[
  Workers that want the same names are a class: a digest of the names, or "*" for those that want all.

  class:CLASS    the names
  members:CLASS  its workers
  free:CLASS     those of them to push to, by how full they are
  classes:NAME   classes that want the name, except those without a free worker at the last check
  dry:CLASS      the names in whose list it is missing for that reason
]]
-- Needs context: prefix, call
-- Gives join_class, join_late, leave_class, refill, ALL

local ALL = '*'

--- The class of workers that take these names, and the names, each once.
local function class_of(wanted)
  if #wanted == 0 then return ALL, {} end
  local seen, names = {}, {}
  for _, name in ipairs(wanted) do
    if not seen[name] then names[#names + 1] = name end
    seen[name] = true
  end
  table.sort(names)
  return redis.sha1hex(cmsgpack.pack(names)), names
end

local function join_class(worker, wanted)
  local class, names = class_of(wanted)
  call('HSET', prefix .. 'worker:' .. worker, 'class', class)
  call('SADD', prefix .. 'members:' .. class, worker)
  if class == ALL or call('EXISTS', prefix .. 'class:' .. class) == 1 then return class end
  for _, name in ipairs(names) do
    call('SADD', prefix .. 'class:' .. class, name)
    call('ZADD', prefix .. 'classes:' .. name, 0, class)
  end
  return class
end

--- A worker that an earlier version registered has its names in a separate set.
local function join_late(worker)
  local names = prefix .. 'names:' .. worker
  local class = join_class(worker, call('SMEMBERS', names))
  call('DEL', names)
  return class
end

local function leave_class(worker, class)
  call('ZREM', prefix .. 'free:' .. class, worker)
  call('SREM', prefix .. 'members:' .. class, worker)
  if class == ALL or call('EXISTS', prefix .. 'members:' .. class) == 1 then return end
  for _, name in ipairs(call('SMEMBERS', prefix .. 'class:' .. class)) do
    call('ZREM', prefix .. 'classes:' .. name, class)
  end
  call('DEL', prefix .. 'class:' .. class, prefix .. 'dry:' .. class)
end

--- Puts a class with a free worker back into the lists of the names it was taken from.
local function refill(class)
  local dry = prefix .. 'dry:' .. class
  local names = call('SMEMBERS', dry)
  if #names == 0 then return end
  for _, name in ipairs(names) do call('ZADD', prefix .. 'classes:' .. name, 0, class) end
  call('DEL', dry)
end
