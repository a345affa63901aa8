-- include number: number
-- include json: json
-- include refusals: raise

--- An integer that a hash field counts exactly, or nil.
local function integer(text)
  local value = number(text)
  if value and value > -2 ^ 53 and value < 2 ^ 53 then return math.floor(value) end
  return nil
end

--- The strings of a JSON list, each once, or nil where it is none.
local function strings(text)
  local value = json(text)
  if type(value) ~= 'table' then return nil end
  local found, seen = {}, {}
  for key, item in pairs(value) do
    if type(key) ~= 'number' or (type(item) ~= 'string' and type(item) ~= 'number') then return nil end
  end
  for _, item in ipairs(value) do
    item = tostring(item)
    if not seen[item] then
      seen[item] = true
      found[#found + 1] = item
    end
  end
  return found
end

--- Pairs of names and values from `first` on.
local function options(args, first)
  if (#args - first) % 2 == 0 then
    raise('ARGUMENT', 'Odd number of additional args: ' .. table.concat(args, ' ', first))
  end
  local given = {}
  for i = first, #args, 2 do given[args[i]] = args[i + 1] end
  return given
end
