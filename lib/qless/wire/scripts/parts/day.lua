-- include config: setting

--- Midnight of the day, as it is written in keys.
local function day_of(time) return string.format('%.0f', time - time % 86400) end

--- How long statistics are kept: `option` days after their own.
local function history_seconds(option, default) return (math.max(1, setting(option, default)) + 1) * 86400 end
