--- The text of a refusal: existing clients know the original's.
local function refusal(code, text) return text end

--- Refuses the whole call.
local function raise(code, text) error(refusal(code, text)) end

--- Refuses a worker that lost its job, or a job in the wrong state.
local refuse = raise
