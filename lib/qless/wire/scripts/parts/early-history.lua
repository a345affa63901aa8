-- include json: json
-- include number: number

local STAGES = { 'put', 'popped', 'failed', 'done' }

--- Jobs of the first generation may have their history in a hash field, a record for each stage. Returns these as items,
--- followed by later ones.
local function with_early(stages, later)
  local items = {}
  for _, stage in ipairs(json(stages) or {}) do
    for _, what in ipairs(STAGES) do
      local item = { what = what, when = math.floor(number(stage[what]) or 0) }
      if what == 'put' then item.q = stage.q end
      if what == 'popped' then item.worker = stage.worker end
      if stage[what] then items[#items + 1] = cjson.encode(item) end
    end
  end
  for _, text in ipairs(later) do items[#items + 1] = text end
  return items
end
