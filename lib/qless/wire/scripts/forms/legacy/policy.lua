--- Differences between the two generations.

local function grace_period() return 0 end

local function heartbeat_option(queue) return 'heartbeat-' .. queue end
