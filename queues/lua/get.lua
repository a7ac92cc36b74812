-- get reads transactions as they are at one instant.
--
-- ARGV     uids
-- Answer:  for each {uid, what was posted or nil, what is stored, facts}
-- Cost:    one command, and one for each of which facts came late
return load(ARGV)
