--- Calls a command on the key with the list, in parts that fit Lua's stack.
local function in_chunks(command, key, list)
  local result = 0
  for from = 1, #list, 1000 do
    result = result + redis.call(command, key, unpack(list, from, math.min(from + 999, #list)))
  end
  return result
end

--- The same for a list of keys.
local function unlink(keys)
  for from = 1, #keys, 1000 do redis.call('UNLINK', unpack(keys, from, math.min(from + 999, #keys))) end
end
