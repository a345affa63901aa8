-- Gives note_function
-- include calls: try

--- Notes that jobs of one function, or its flows, wait for jobs of another one, which may have no worker of this package: a
--- member ":FN" of the score 3 among those of the first. Workers of this one look at the other's jobs as well, until none is left.
local function note_function(fn, other)
  if other ~= fn then try('ZADD', 'queue:' .. fn .. ':flows', '3', ':' .. other) end
end
