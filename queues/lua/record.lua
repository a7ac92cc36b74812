-- record adds facts of an attempt, whoever brings them and however late: facts
-- are not fenced, and one that is there is kept.
--
-- ARGV[1]  uid, then pairs: field, value
-- Answer: how many facts were new; -1 if there is no such transaction
if call('EXISTS', P .. 't:' .. ARGV[1]) == 0 then return -1 end
local new = 0
for i = 2, #ARGV, 2 do new = new + call('HSETNX', P .. 'a:' .. ARGV[1], ARGV[i], ARGV[i + 1]) end
return new
