-- get reads transactions as they are at one instant.
--
-- ARGV     uids
-- Answer:  for each {uid, what was posted or nil, what is stored, facts}, for the first of
--          them only, where they are large
-- Cost:    one command for each, and one for each of which facts came late
return load(ARGV)
