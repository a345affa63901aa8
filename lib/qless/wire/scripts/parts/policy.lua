-- include number: number

--- What the two generations do differently.

local function grace_period(configured) return number(configured) or 10 end

local function heartbeat_option(queue) return queue .. '-heartbeat' end
