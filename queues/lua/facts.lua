-- facts adds facts of an attempt, whoever brings them and however late: facts are
-- not fenced, and one that is there is kept. The owner is to look at them.
--
-- ARGV[1]  uid, [2] revision of the transaction as it was when they were found to be
--          news, then pairs: a name, with number, sender and nonce of the attempt, and
--          the value
-- Answer:  how many facts were new; -1 if there is no such transaction, -2 if its
--          revision is lower: Redis has forgotten the attempt, or may have
-- Cost:    about six commands, and one for each
local t, new = txn(ARGV[1]), 0
if t.fresh and call('EXISTS', P .. 't:' .. ARGV[1]) == 0 then return -1 end
if t.revision < tonumber(ARGV[2]) then return -2 end
for i = 3, #ARGV, 2 do new = new + call('HSETNX', P .. 'f:' .. t.uid, ARGV[i], ARGV[i + 1]) end
if new > 0 then
  t.facts = (tonumber(t.facts) or 0) + new
  write(t)
  look(t)
  flush()
end
return new
