-- remove deletes a transaction that is final, or DONE past finality.
--
-- ARGV[1]  uid, ARGV[2] milliseconds that its key is known
-- ARGV[3]  who says so, "" for nobody in particular
-- Answer:  "ok", "gone", "busy" if it is not final or still watched, or "unsettled" if
--          Redis may have forgotten what became of it since
-- Cost:    about twelve commands; of what stands in a line more, by the logarithm of its
--          length, and some two hundred where most of it is vacant
actor = ARGV[3]
local queue = select(4, header(ARGV[1]))
if not queue then return 'gone' end
local t = txn(ARGV[1])
local watched = t.phase == 'done' and t.claim ~= '' or tonumber(t.open) > 0
if not INDEX[t.phase] or BOUND[t.phase] or watched then return 'busy' end
if doubted() then return 'unsettled' end
que(queue) -- or it says that its record is damaged
remove(ARGV[1], ARGV[2])
flush()
return 'ok'
