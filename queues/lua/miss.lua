-- miss notes that Redis has forgotten something: the event log tells another
-- story from here on, under another epoch.
--
-- ARGV[1]  the Redis that has forgotten it
-- Answer: "1"
if call('GET', P .. 'is:server') == ARGV[1] then
  call('SET', P .. 'is:epoch', now) -- who comes late finds it settled
else
  call('HSET', P .. 'recovery', 'lost', '1')
end
return 1
