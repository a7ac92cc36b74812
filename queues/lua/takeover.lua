-- takeover moves claims of a dead process to the calling one, with new tokens.
--
-- ARGV[1]  incarnation of the caller, ARGV[2] of the dead one
-- ARGV[3]  the most to take
-- Answer: uids taken; they are due at once
local mine, dead = P .. 'own:' .. ARGV[1], P .. 'own:' .. ARGV[2]
local ends = call('ZSCORE', P .. 'procs', ARGV[2])
if not ends or tonumber(ends) > now or not lives(ARGV[1]) then return {} end
local uids = call('ZRANGE', dead, 0, tonumber(ARGV[3]) - 1)
for _, uid in ipairs(uids) do
  call('ZREM', dead, uid)
  call('ZADD', mine, now, uid)
  call('HSET', P .. 'x:' .. uid, 'claim', ARGV[1] .. ':' .. call('INCR', P .. 'n:claim'))
  call('HINCRBY', P .. 'x:' .. uid, 'rev', 1)
end
if call('ZCARD', dead) == 0 then call('ZREM', P .. 'procs', ARGV[2]) end
return uids
