-- include number: number

--- Differences between the two generations.

local function grace_period(configured) return number(configured) or 10 end

local function heartbeat_option(queue) return queue .. '-heartbeat' end
