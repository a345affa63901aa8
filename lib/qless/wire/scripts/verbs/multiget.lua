--[=[
  multiget <now> jid…

  Returns those of the jobs that exist, as JSON in the order of the jids, {} where there are none. Refuses more than
  1,000 jids: each is 12 µs, of reading and of JSON.
]=]
-- include most
at_most(1000, #args, 'MultiGet', 'jids a call')
-- include several
return jobs_text((texts_of(args)))
