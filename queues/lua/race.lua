-- race tells in the log that a queue races with another one, and changes nothing of it.
--
-- ARGV[1]  queue
-- Answer:  {"ok", ""}, or {"gone"}
-- Cost:    about three commands
local q = que(ARGV[1])
if not q.there then return { 'gone' } end
event('q', q.name, '', '', '', '', 'RACES', q)
flush()
return { 'ok', 0 }
