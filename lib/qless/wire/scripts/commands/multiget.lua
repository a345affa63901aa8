--[=[
  multiget <now> jid…

  Returns those of the jobs that exist, as JSON in the order of the jids, {} where there are none. Refuses more than
  1,000 jids: each is 12 µs, of reading and of JSON.
]=]
-- include limits: at_most
-- include job-list: job_list
-- include job-json: jobs_json

at_most(1000, #args, 'MultiGet', 'jids a call')
return jobs_json((job_list(args)))
