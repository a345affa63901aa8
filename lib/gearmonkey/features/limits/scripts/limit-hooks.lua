--- What a limit adds to a claim. A key of a limit may have another type: an error there must lose no job that was taken, so
--- these functions catch it.
-- Gives limit_hooks
-- include calls: call, try
-- include fields: fields
-- include foreign: count
-- include limit-refusal: limit_refusal
-- include limit-turns: add_turns
-- include limits: open_limits
-- include refusals: refusal_of
-- include take: take

--- The hooks of a function with a limit, and an error reply if the user lacks a right that they need; nil if the rules that
--- are stored have another form. `turn` is that of claim.lua, and gets `unfiled`: jobs without a key, for the reply.
---
---   sources   lists that jobs come from and go back to, besides the queues
---   admit     where the claim of a job from a queue is noted; nil if it waits for the turn of its key from now on
---   places    the keys that claims are counted by
---   outcomes  adds verbs of outcomes
---   ended     frees the place of a claim
local function limit_hooks(turn, rules, override)
  local keys, now = turn.keys, turn.now
  local limits = open_limits(keys, now, rules, override)
  if not limits then return nil end
  add_turns(limits)
  turn.unfiled = {}
  --- What only workers write, beside what clients do.
  local function lacking(key)
    return refusal_of('ZRANGE RPUSH RPOP LTRIM HSET PEXPIRE', key)
  end
  local lacks = limit_refusal(keys.limits, rules, {}) or lacking(keys.limits .. 'x') or (limits.shared and lacking(limits.space .. 'x'))

  local function open()
    pcall(limits.move_due)
  end

  local function take_keyed(priority, has_room)
    pcall(limits.take_turns, turn, priority, has_room, take)
  end

  --- How many jobs of the queues may be taken that only get their key: they use no slot, but wait for a call that has one.
  local function room()
    return turn.files and limits.MAX_MOVES - #turn.unfiled / 4
  end

  --- Ends the claims. Returns ms until the next job is due, and whether there may be more now; adds the keys to `left` that exist
  --- while a job of any key may start.
  local function close(wait, left)
    pcall(limits.pass_on)
    local first = limits.time_left()
    if first then wait = wait < 0 and first or math.min(wait, first) end
    limits.add_rings(left)
    return wait, limits.is_over or room() == 0
  end

  --- Whether a key may start jobs again that had to wait.
  local function has_more()
    return limits.freed
  end

  --- Makes a job wait for the turn of its key, behind the others or in front of them. Returns whether it does.
  local function take_back(key, from, id, in_front)
    local is_whole, waits = pcall(limits.await_turn, key, limits.priority_of(from), id, in_front)
    return is_whole and waits
  end

  --- Recovers what leases don't tell of.
  local function review(recover)
    local is_whole, lost = pcall(limits.lost_claims, keys.leases)
    for _, member in ipairs(is_whole and lost or {}) do recover(member) end
    local is_known, member = pcall(limits.review_holders, keys.leases)
    if is_known and member then recover(member) end
    pcall(limits.review_times)
    pcall(limits.go_on)
    local is_read, counted = pcall(limits.review_parked, keys.leases)
    for _, claim in ipairs(is_read and counted or {}) do recover(claim[1], claim[2]) end
  end

  local function admit(id, from, last_token, key)
    if key then
      local is_whole, waits = pcall(limits.await_turn, key, limits.priority_of(from), id, last_token)
      if waits or not is_whole then return nil end
    end
    return turn.files and turn.unfiled or turn.claims
  end

  --- Returns a function for the place of the claim `members[n]`. If the places were deleted, the job `id` knows its key.
  local function places(members)
    local found = try('HMGET', keys.limits .. 'places', unpack(members))
    return function(n, id, verb)
      return found[n] or (id and verb ~= 'filed' and fields(keys.jobs, id, 'key')[1]) or nil
    end
  end

  local function outcomes(verbs, keep)
    --- Files a job that was enqueued without a key, behind the others of the key that its worker has found out.
    function verbs.filed(id, token, key)
      local job = fields(keys.jobs, id, 'attempts', 'queue')
      if not job[1] then return false end
      local attempts = math.max(0, count(job[1]) - 1)
      if take_back(key, job[2], id, false) then
        call('HSET', keys.jobs .. id, 'status', 'idle', 'key', key, 'attempts', attempts, 'settled', token)
      else
        -- It stays busy, so that it is recovered.
        keep(id, token)
      end
      return true
    end

    --- Gives a job back, and lets no other job of its key start for `wait` ms.
    function verbs.held(id, token, wait, detail, key)
      if key and tonumber(wait) > 0 then
        try('ZADD', limits.space .. 'holds', 'GT', string.format('%.0f', now + wait), key)
        pcall(limits.park, key, now + wait)
      end
      return verbs.released(id, token, wait, detail, key)
    end
  end

  local function ended(key, member)
    pcall(limits.vacate, key, member)
  end

  local sources = {
    open = open, take = take_keyed, room = room, close = close, has_more = has_more,
    take_back = take_back, put_off = limits.await_time, review = review,
  }
  return { sources = sources, admit = admit, places = places, outcomes = outcomes, ended = ended }, lacks
end
