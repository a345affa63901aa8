-- Gives WHOLE

--- The format of a whole number in the hot path: `%d` takes a sixth of the time, but where Lua's integers have 32 bits it has no
--- room for marks and tokens.
local WHOLE = string.format('%d', 2 ^ 53) == '9007199254740992' and '%d' or '%.0f'
