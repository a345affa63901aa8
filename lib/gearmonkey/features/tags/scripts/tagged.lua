-- Gives may_have_tags

--- Whether a job's options, JSON, may have tags: headers may have the same name.
local function may_have_tags(options)
  return string.find(options, '"tags":', 1, true)
end
