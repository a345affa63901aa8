--- The first generation had no such events.
local function publish_job() end
