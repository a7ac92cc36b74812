-- repost gives back a transaction that Redis has forgotten to have accepted: it waits. Its
-- place is the one it had, unless another one has that by now. What it had out is still to
-- be stored: until then nothing is bound.
--
-- ARGV[1]  uid, ARGV[2] type, ARGV[3] queue
-- ARGV[4]  its sequence, ARGV[5] milliseconds when it was received, ARGV[6] data
-- ARGV[7]  how its first line ends, as enqueue has it
-- Answer:  "gone" if it was removed in order, which is not forgotten; else nothing
-- Cost:    some ten commands
local uid, typ, queue = ARGV[1], ARGV[2], ARGV[3]
if header(uid) then return end
if call('EXISTS', P .. 'gone:' .. uid) == 1 then return 'gone' end
local q = que(queue)
local seq = string.format('%.0f', math.max(tonumber(ARGV[4]), tonumber(call('GET', P .. 'n:seq') or '0') + 1))
call('SET', P .. 't:' .. uid, seq .. ' ' .. ARGV[5] .. ' ' .. typ .. ' ' .. queue .. ARGV[7] .. '\n' .. ARGV[6])
local expires = string.match(ARGV[7], '^ %d* (%d+)')
if expires then put('due', expires, 'd:' .. uid) end
local key = batchKey(typ, batchOf(ARGV[7]))
if key then strings[key] = uid end
call('SET', P .. 'n:seq', seq)
local page = math.floor(tonumber(seq) / 512)
call('RPUSH', P .. 'page:' .. page, uid)
call('RPUSH', P .. 'line:' .. queue, uid)
put('pages', page, page)
put('queues', 0, queue)
waits(typ, 1)
event('t', uid, '', '', 'waiting', '', 'RESTORED', q)
if not q.there then obey(q, call('GET', P .. 'stops')) end
q.there, q.waiting = true, q.waiting + 1
list(q, q.waiting == 1 and q.run == '' and seq)
place(q)
flush()
call('SET', P .. 'is:server', '')
