--[=[
  Track(0)
  Track(0, track, jid, now, tag…)
  Track(0, untrack, jid, now)

  Returns JSON, or 1 or 0 for whether that changed something, or nil where there is no job.
]=]
-- include time: expect_keys, time_at, rest

expect_keys(0, 'Track')
local now = ARGV[1] and time_at(3, 'Track')
local function run(args)
  -- inline commands/track
end
local function tag_as(args)
  -- inline commands/tag
end
local reply = run({ ARGV[1], ARGV[2] })
if not ARGV[1] or not reply then return reply end
if string.lower(ARGV[1]) == 'track' and #ARGV > 3 then tag_as(rest({ 'add', ARGV[2] }, 4)) end
return tonumber(reply)
