-- record adds facts of an attempt, whoever brings them and however late: facts
-- are not fenced, and one that is there is kept.
--
-- ARGV[1]  uid, [2] field of the attempt's plan, then pairs: field, value
-- Answer: how many facts were new; -1 if there is no such transaction, -2 if the
--         attempt is not known: facts would go with the next one of its number
if call('EXISTS', P .. 't:' .. ARGV[1]) == 0 then return -1 end
local a, new = P .. 'a:' .. ARGV[1], 0
if call('HEXISTS', a, ARGV[2]) == 0 then return -2 end
for i = 3, #ARGV, 2 do new = new + call('HSETNX', a, ARGV[i], ARGV[i + 1]) end
return new
