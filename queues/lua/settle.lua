-- settle ends a recovery: what Redis knows is again what the processes and the
-- chain know, and work may go on.
--
-- ARGV[1]  incarnation, which has the turn
-- ARGV[2]  the Redis that was reconciled
-- Answer: "1", or "0" if it is another Redis by now or another process's turn
local me, run, r = ARGV[1], ARGV[2], P .. 'recovery'
local v = call('HMGET', r, 'run', 'by', 'lost')
if v[1] ~= run or v[2] ~= me or server() ~= run then return 0 end
-- A process that is gone cannot say that nothing of its own is missing.
local lost = v[3]
for _, p in ipairs(call('ZRANGE', P .. 'procs', 0, -1)) do
  if call('HEXISTS', r, 'back:' .. p) == 0 then lost = '1' end
end
call('SET', P .. 'is:server', run)
if lost or call('EXISTS', P .. 'is:epoch') == 0 then call('SET', P .. 'is:epoch', now) end
call('DEL', r)
call('PUBLISH', P .. 'wake', '')
return 1
