-- include arguments
-- include tags
--- Tags that stay are of now, too.
local function retag(jid, old, new, now)
  local keep = {}
  for _, tag in ipairs(new) do
    keep[tag] = true
    add_tag(jid, tag, now)
  end
  for _, tag in ipairs(old and strings(old) or {}) do
    if not keep[tag] then remove_tag(jid, tag) end
  end
end
