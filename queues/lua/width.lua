-- width says how many of a queue may be in flight and in no block. What has broken before
-- does not count any more.
--
-- ARGV[1]  queue, ARGV[2] how many, "" for as many as is configured
-- ARGV[3]  who says so, "" for nobody in particular
-- Answer:  {"ok", "1" if a bind may have become possible}, or {"gone"}
-- Cost:    about five commands
actor = ARGV[3]
local q = que(ARGV[1])
if not q.there then return { 'gone' } end
q.width, q.narrow = ARGV[2], ''
event('q', q.name, '', '', '', '', 'WIDTH', q)
heed(q)
finish(q)
flush()
return { 'ok', woken and 1 or 0 }
