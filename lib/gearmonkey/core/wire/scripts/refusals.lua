-- Gives refusal_of
-- include rights: missing_right

--- Returns an error reply if the user may not run all of these commands, with spaces between them, on a key.
local function refusal_of(commands, key)
  for command in string.gmatch(commands, '%u+') do
    local refusal = missing_right(command, key)
    if refusal then return refusal end
  end
end
