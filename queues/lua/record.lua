-- record adds facts of an attempt, whoever brings them and however late: facts
-- are not fenced, and one that is there is kept.
--
-- ARGV[1]  uid, [2] number of the attempt, [3] its sender, [4] its nonce, then
--          pairs: field, value
-- Answer: how many facts were new; -1 if there is no such transaction, -2 if there is
--         no such attempt: facts would go with another one of its number
if call('EXISTS', P .. 't:' .. ARGV[1]) == 0 then return -1 end
local x, new = P .. 'x:' .. ARGV[1], 0
local v = call('HMGET', x, ARGV[2] .. '.by', ARGV[2] .. '.plan')
if v[1] ~= ARGV[3] or string.match(v[2] or '', '^%d+') ~= ARGV[4] then return -2 end
for i = 5, #ARGV, 2 do new = new + call('HSETNX', x, ARGV[i], ARGV[i + 1]) end
return new
