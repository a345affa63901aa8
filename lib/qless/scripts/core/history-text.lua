-- include json
--- An item of a history as a JSON object. Most need no decoding: their fields are put in another order.
local function item_text(item)
  local when, what, fields = string.match(item, '^%[(%-?%d+),("[%w-]+")(.*)%]$')
  if when and fields == '' then return '{"when":' .. when .. ',"what":' .. what .. '}' end
  local inner = when and string.match(fields, '^,{(.+)}$')
  if inner and not string.find(inner, '"wh', 1, true) then
    return '{"when":' .. when .. ',"what":' .. what .. ',' .. inner .. '}'
  end
  local decoded_item = json(item) or {}
  local entry = type(decoded_item[3]) == 'table' and decoded_item[3] or {}
  entry.when, entry.what = decoded_item[1], decoded_item[2]
  return cjson.encode(entry)
end

--- Jobs that are put or popped together have the same items.
local item_texts = {}

local function history_text(jid)
  local items = redis.call('LRANGE', ql .. 'j:' .. jid .. '-history', 0, -1)
  if #items == 0 then return '{}' end
  for i, item in ipairs(items) do
    local text = item_texts[item]
    if not text then
      text = item_text(item)
      item_texts[item] = text
    end
    items[i] = text
  end
  return '[' .. table.concat(items, ',') .. ']'
end
