--- What the two generations do differently.

--- A worker that lost its job, or a job in another state: nil.
local function refuse() return false end

local function grace_period() return 0 end

local function heartbeat_option(queue) return 'heartbeat-' .. queue end
