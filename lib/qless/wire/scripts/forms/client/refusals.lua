--- Our own client reads the code, and shows the text.
local function refusal(code, text) return 'QLESS_' .. code .. ' ' .. text end

local function raise(code, text) error(refusal(code, text)) end

local refuse = raise
