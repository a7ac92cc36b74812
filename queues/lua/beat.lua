-- beat renews the claims of a process, all at once.
--
-- ARGV[1]  incarnation, ARGV[2] milliseconds that the claims live
-- Answer: {"1" if the process was not known (new, or taken for dead), now,
--          incarnations whose claims have run out …}
local new = call('ZADD', P .. 'procs', now + tonumber(ARGV[2]), ARGV[1])
local answer = { new, now }
for _, dead in ipairs(call('ZRANGEBYSCORE', P .. 'procs', '-inf', now, 'LIMIT', 0, 16)) do
  if dead ~= ARGV[1] then answer[#answer + 1] = dead end
end
return answer
