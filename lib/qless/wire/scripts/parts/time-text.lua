--- The time as text, made once: Lua would convert a number for each command it is passed to.
local now_text = string.format('%.17g', now)
