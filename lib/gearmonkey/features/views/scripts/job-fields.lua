-- Gives fields_of
-- include calls: call
-- include reads: read
-- include unbegun: is_unbegun

--- What a list shows of a job, as fields and values; nil if its hash is gone or its status is not one of `statuses`.
--- With `payloads` also the beginning of its input and output: each value that is larger than 64 KiB is left out, and those
--- after 512 KiB of a page, because reading them would take too long. `input:bytes` and `output:bytes` are their lengths.
local unread = 524288
local function fields_of(jobs, id, statuses, payloads)
  local LARGEST, SHOWN = 65536, 4096
  local NAMES = {
    'status', 'created', 'due', 'started', 'finished', 'attempts', 'snoozes', 'stalls', 'queue', 'key', 'options', 'tags',
    'status:dividend', 'status:divisor', 'error',
    'token', 'worker', 'waits',
  }
  local SHOWN_NAMES = #NAMES
  NAMES[SHOWN_NAMES + 1], NAMES[SHOWN_NAMES + 2] = 'after', 'flow'
  local key = jobs .. id
  local values = read({}, 'HMGET', key, unpack(NAMES))
  local status = values[1]
  if not status or (statuses and not statuses[status]) or is_unbegun(values[SHOWN_NAMES + 1], values[SHOWN_NAMES + 2]) then return nil end
  local found = {}
  local function add(name, value)
    found[#found + 1], found[#found + 2] = name, value
  end
  local function add_part(name)
    local length = call('HSTRLEN', key, name)
    if length > 0 then add(name .. ':bytes', string.format('%.0f', length)) end
    if length == 0 or length > LARGEST or length > unread then return end
    unread = unread - length
    add(name, string.sub(call('HMGET', key, name)[1], 1, SHOWN))
  end
  for i = 1, SHOWN_NAMES do
    if values[i] then add(NAMES[i], values[i]) end
  end
  local failed = status == 'idle' and 'error:' .. (values[6] or '')
  local last = failed and call('HMGET', key, failed)[1]
  if last then add('error', last) end
  if payloads then add_part('input') end
  if payloads or (status == 'error' and not values[15]) then add_part('output') end
  return found
end
