-- Gives mark_of
-- include whole: WHOLE

--- The mark of a call's job, by its place among the new ones, counted from 1; `mark` is that of the first. Jobs of one call
--- have different marks: after a failover the call may be sent again, and one may get the id that another had. With 0 they
--- have none.
local function mark_of(mark, place)
  return (place == 1 or mark == '0') and mark or string.format(WHOLE, mark + (place - 1) * 1000000)
end
