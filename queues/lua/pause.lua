-- pause keeps a queue from binding, or lets it bind again, also one that is left alone for a while.
--
-- ARGV[1]  queue, ARGV[2] why it is paused, "" to resume it
-- ARGV[3]  when it resumes by itself, "" for never; ARGV[4] who says so, "" for nobody in particular
-- Answer:  {"ok", "1" if a bind may have become possible}, or {"gone"}
-- Cost:    about six commands
actor = ARGV[4]
local q = que(ARGV[1])
if not q.there then return { 'gone' } end
local paused = q.paused ~= ''
halt(q, ARGV[2], ARGV[2] ~= '' and ARGV[3] or '')
if paused and ARGV[2] == '' then
  q.streak = ''
  event('q', q.name, '', '', '', '', 'RESUMED', q)
elseif not paused and ARGV[2] ~= '' then
  event('q', q.name, '', '', '', '', 'PAUSED', q)
end
if paused ~= (q.paused ~= '') then heed(q) end
finish(q)
flush()
return { 'ok', woken and 1 or 0 }
