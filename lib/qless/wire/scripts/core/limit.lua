--- How many jobs a call hands out, shows, moves or creates at most: what is left is left for the next one.
local JOBS_A_CALL = 250
