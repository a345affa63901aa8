--- Refuses the whole call.
local function raise(_, text) error(text) end

--- A worker that lost its job, or a job in the wrong state, gets nil.
local function refuse() return false end
