--- How many jobs a call claims, shows, moves or creates at most; the next call continues.
local JOBS_A_CALL = 250

--- How many tags a job has at most, and how many other jobs a call may name.
local MOST_TAGS, MOST_NAMED = 1000, 5000

--- Refuses a list that would be too much work for one call.
local function at_most(limit, count, verb, what)
  if count > limit then error(verb .. '(): At most ' .. limit .. ' ' .. what .. ', got ' .. count) end
end
