--[=[
  multiget <now> jid…

  Returns those of the jobs that exist, as JSON in the order of the jids, {} where there are none.
]=]
-- include several
return jobs_text((texts_of(args)))
