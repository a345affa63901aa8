-- Gives tag_entry

--- The entry of a job under one of its tags. The entries of a tag are in the order of ids: the length of an id precedes it.
local function tag_entry(tag, id)
  return tag .. '\0' .. string.format('%02d', #id) .. id
end
