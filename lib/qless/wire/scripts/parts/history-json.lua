-- include json: json

--- An item of a history as a JSON object. Most need no decoding: their fields are put in another order.
local function item_json(item)
  local when, what, fields = string.match(item, '^%[(%-?%d+),("[%w-]+")(.*)%]$')
  if when and fields == '' then return '{"when":' .. when .. ',"what":' .. what .. '}' end
  local inner = when and string.match(fields, '^,{(.+)}$')
  if inner and what ~= '"put"' and what ~= '"popped"' and what ~= '"done"' and what ~= '"failed"' then
    -- include standard-json: standard_json -- at the head +3 % of get
    if standard_json('{' .. inner .. '}') ~= '{' .. inner .. '}' then inner = nil end
  end
  if inner and not string.find(inner, '"wh', 1, true) then
    return '{"when":' .. when .. ',"what":' .. what .. ',' .. inner .. '}'
  end
  local decoded_item = json(item) or {}
  local entry = type(decoded_item[3]) == 'table' and decoded_item[3] or {}
  entry.when, entry.what = decoded_item[1], decoded_item[2]
  local good, text = pcall(cjson.encode, entry)
  return good and text or '{"when":0,"what":"unreadable"}'
end

--- Jobs that are put or popped together have the same items.
local item_texts = {}

local function history_json(jid, stages)
  local items = redis.call('LRANGE', prefix .. 'j:' .. jid .. '-history', 0, -1)
  for i, item in ipairs(items) do
    local text = item_texts[item]
    if not text then
      text = item_json(item)
      item_texts[item] = text
    end
    items[i] = text
  end
  if stages then
    -- include early-history: with_early -- at the head +3 % of get
    items = with_early(stages, items)
  end
  if #items == 0 then return '{}' end
  return '[' .. table.concat(items, ',') .. ']'
end
