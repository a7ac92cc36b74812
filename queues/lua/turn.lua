-- turn gives one of all processes at a time what has a name to do.
--
-- ARGV[1]  name, ARGV[2] milliseconds that it is the caller's
-- Answer:  "1" if it is the caller's now
-- Cost:    one command
return call('SET', P .. 'turn:' .. ARGV[1], '', 'NX', 'PX', ARGV[2]) and 1 or 0
