-- postpone changes when a claimed transaction is due, if it is due now. What a
-- change has planned since stays: a request may arrive long after it was sent.
--
-- ARGV[1]  incarnation of the claiming process, ARGV[2] uid
-- ARGV[3]  milliseconds from now, -1 for never
-- Answer:  "1" if it was due
-- Cost:    two commands
local own, due = P .. 'own:' .. ARGV[1], tonumber(ARGV[3])
local planned = call('ZSCORE', own, ARGV[2])
planned = planned and tonumber(planned) -- what is never due may be no number
if not planned or planned > now then return 0 end
call('ZADD', own, due >= 0 and now + due or '+inf', ARGV[2])
return 1
