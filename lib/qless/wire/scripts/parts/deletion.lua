-- include arguments: strings
-- include chunks: unlink
-- include tags: remove_tag

--- Deletes jobs with their tags and history.
local function delete_jobs(jids)
  local keys = {}
  for _, jid in ipairs(jids) do
    local key = prefix .. 'j:' .. jid
    local tags = redis.call('HGET', key, 'tags')
    if tags and tags ~= '[]' and tags ~= '{}' then
      for _, tag in ipairs(strings(tags) or {}) do remove_tag(jid, tag) end
    end
    keys[#keys + 1] = key
    keys[#keys + 1] = key .. '-history'
    keys[#keys + 1] = key .. '-dependencies'
  end
  unlink(keys)
end
