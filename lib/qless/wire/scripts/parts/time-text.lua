--- The time as text, which is made once: a number would be made into text for every command that it goes into.
local now_text = string.format('%.17g', now)
