-- include number: number

--- What the two generations do differently.

--- A worker that lost its job, or a job in another state.
local function refuse(text) error(text) end

local function grace_period(configured) return number(configured) or 10 end

local function heartbeat_option(queue) return queue .. '-heartbeat' end
