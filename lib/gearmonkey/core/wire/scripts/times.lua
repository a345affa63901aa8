-- Gives times_of

--- When new jobs are due and expire. Spans go by the server's clock: a client's may be wrong. `text` is "DUE" or "DUE:EXPIRES".
--- DUE is '' for a list, seconds since 1970, or '+' and the ms until then; EXPIRES is ms since 1970, or '+' and the ms from when
--- they may run. `now` is in ms. Returns seconds as text or '', and ms or nil.
local function times_of(text, now)
  local due, expires = string.match(text, '^([^:]*):(.+)$')
  due = due or text
  local wait = string.match(due, '^%+(.+)$')
  if wait then due = string.format('%.3f', (now + wait) / 1000) end
  local span = expires and string.match(expires, '^%+(.+)$')
  if not span then return due, expires end
  return due, (due == '' and now or due * 1000) + span
end
