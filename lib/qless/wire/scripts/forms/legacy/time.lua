-- include number: number

--- The time, at the place where the first generation's form has it.
local function time_at(index, name)
  local now = number(ARGV[index])
  if not now then error(name .. '(): Arg "now" missing or not a number: ' .. tostring(ARGV[index])) end
  return now
end

--- The arguments from `first` on, after those given.
local function rest(args, first)
  for i = first, #ARGV do args[#args + 1] = ARGV[i] end
  return args
end

local function expect_keys(count, name)
  if #KEYS ~= count then error(name .. '(): Got ' .. #KEYS .. ', expected ' .. count .. ' KEYS arguments') end
end
