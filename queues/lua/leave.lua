-- leave gives up all claims of a process at once.
--
-- ARGV[1]  incarnation
-- Answer:  how many claims others will find
-- Cost:    four commands
local n = call('ZCARD', P .. 'own:' .. ARGV[1])
if n == 0 then call('ZREM', P .. 'procs', ARGV[1]) else call('ZADD', P .. 'procs', 0, ARGV[1]) end
call('HDEL', P .. 'said', ARGV[1])
call('PUBLISH', P .. 'wake', '')
return n
