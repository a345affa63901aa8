-- Gives keeps_nothing
-- include calls: try

--- Whether the limit of a function keeps nothing: no key of it has jobs or is full. That takes one command in place of a dozen,
--- each second of an idle function. `rules` are those that are stored. Of a limit that is shared others keep the keys.
local function keeps_nothing(rules, prefix)
  return string.find(rules, '^%d*:%d*:%d*:%a+:$') and try('EXISTS', prefix .. 'ready:high', prefix .. 'ready:normal',
    prefix .. 'ready:low', prefix .. 'due', prefix .. 'parked', prefix .. 'places', prefix .. 'holders') == 0
end
