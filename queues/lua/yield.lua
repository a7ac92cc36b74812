-- yield passes the turn of a recovery on, for the process that has it could not compare the
-- senders with the chain: another one may be able to.
--
-- ARGV[1]  incarnation, which has the turn
-- Answer: "1"
local r = P .. 'recovery'
if call('HGET', r, 'by') == ARGV[1] then
  call('HDEL', r, 'by', 'till')
  call('HSET', r, 'passed', ARGV[1])
end
return 1
