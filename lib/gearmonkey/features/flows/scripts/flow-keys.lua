-- Gives keys_of, parse_entry

--- Keys of functions by their names: the jobs of a flow may belong to several.
local functions = {}
local function keys_of(fn)
  local k = functions[fn]
  if not k then
    k = {
      fn = fn, jobs = 'job:' .. fn .. ':', locks = 'lock:' .. fn .. ':', channel = 'channel:' .. fn, wake = 'wake:' .. fn,
      scheduled = 'queue:' .. fn .. ':scheduled', high = 'queue:' .. fn .. ':high', normal = 'queue:' .. fn .. ':normal',
      low = 'queue:' .. fn .. ':low', members = 'queue:' .. fn .. ':flows', progress = 'progress:' .. fn,
      leases = 'lease:' .. fn, limits = 'limit:' .. fn .. ':', control = 'control:' .. fn, cancel = 'cancel:' .. fn,
    }
    functions[fn] = k
  end
  return k
end

--- Id, mark and function of a job as lists of flows have it: "ID:MARK:FN". The mark is '' if only the id is known.
local function parse_entry(entry)
  return string.match(entry, '^(%d+):(%d*):(.+)$')
end
