-- include job-json: job_json
-- include links: any_linked
-- include job: read_job

--- The JSON of those of a list that exist, and their jids.
local function job_list(jids)
  local texts, found = {}, {}
  for from = 1, #jids, 1000 do
    local part = { unpack(jids, from, math.min(from + 999, #jids)) }
    local tracked, linked = redis.call('ZMSCORE', prefix .. 'tracked', unpack(part)), any_linked(part)
    for i, jid in ipairs(part) do
      local job = read_job(jid)
      if job then
        texts[#texts + 1] = job_json(job, tracked[i] ~= false, linked)
        found[jid] = true
      end
    end
  end
  return texts, found
end
