-- regain makes claims of a process due at once. One that has passed on meanwhile is left alone.
--
-- ARGV     incarnation of the claiming process, then uids
-- Cost:    one command
local command = { 'ZADD', P .. 'own:' .. ARGV[1], 'XX' }
for i = 2, #ARGV do
  command[#command + 1] = now
  command[#command + 1] = ARGV[i]
end
call(unpack(command))
