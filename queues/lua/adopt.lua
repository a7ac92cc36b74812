-- adopt gives a transaction back what Redis has forgotten of it: that it was bound
-- to a sender, and its attempts. It is bound to that sender again, in its queue, for
-- the calling process to go on with, whatever it was, in one change: by half of one it would wait
-- with nothing out, and be tried anew; so are those of its queue that have something out by
-- that sender, too: they were in flight together.
--
-- ARGV[1]  uid, ARGV[2] sender, ARGV[3] incarnation of the calling process
-- ARGV[4]  how many of its attempts are open, ARGV[5] signed bytes, or ""
-- ARGV[6]  revision that the record was made of, ARGV[7] the record, ARGV[8] the nonce that it has
--          open: who was stopped for that one, as a stranger's, is so no longer
-- ARGV[9]  the account with a nonce of which it stood on the chain, or "", ARGV[10] the phase to take
-- then pairs: an account and the least that its next nonce is
-- Answer:  {"ok"}; {"stale"} if it has changed, is bound to that sender, or is not there; {"taken", uid}
--          of what is bound in its place: nothing is stored, and the namespace is settled no longer
-- Cost:    some thirty commands
local uid, sender, me = ARGV[1], ARGV[2], ARGV[3]
local s = P .. 's:' .. sender
local seq, _, typ, queue = header(uid)
local t = txn(uid)
if not seq or t.revision ~= tonumber(ARGV[6]) or BOUND[t.phase] and t.sender == sender then return { 'stale' } end

local q, carries = que(queue), call('HGET', s, 'queue') or ''
local by
local others = without(q.run, uid)
for other in string.gmatch(others, '[^,]+') do
  local o = txn(other)
  if not by and (o.sender ~= sender or (tonumber(o.open) or 0) == 0) then by = other end
end
if not by and carries ~= '' and carries ~= queue then by = string.match(que(carries).run, '^[^,]+') end
if by then
  -- Until that one has ended nothing may run in its place: not this one on another
  -- sender, nor another one on this.
  call('SET', P .. 'is:server', '')
  return { 'taken', by }
end

if t.phase ~= 'waiting' then
  -- That the other one released it, or how it ended, is forgotten.
  local overtaken = BOUND[t.phase] and t.overtaken or ''
  if owner(t) then
    look(t)
    drop('own:' .. owner(t), uid)
  end
  if ARGV[9] ~= '' then call('ZREM', P .. 'landed:' .. ARGV[9], uid) end
  if t.phase == 'unresolved' then known(t.sender, 'why:OUTCOME_UNKNOWN:' .. uid) end
  local phase = t.phase
  passes(t, q, typ, seq, phase, 'waiting')
  t.phase = 'waiting'
  event('t', uid, t.sender, phase, 'waiting', '', 'RESTORED', q)
  t.overtaken = overtaken
end
for other in string.gmatch(others, '[^,]+') do
  local o = txn(other)
  if owner(o) then drop('own:' .. owner(o), other) end
  claim(o, me)
  o.revision = o.revision + 1
  write(o)
end
if call('HEXISTS', s, 'group') == 0 then
  -- It was registered, which is forgotten too: a person says what it is to do.
  call('HSET', s, 'url', '', 'source', 'api', 'group', 'shared', 'reason', 'DRAINING', 'why:DRAINING:forgotten', 0)
  put('senders', 0, sender)
  event('s', sender, sender, '', '', '', 'RESTORED')
else
  known(sender, 'why:STOPPED_NONCE:' .. ARGV[8])
end
for i = 11, #ARGV, 2 do
  if call('EXISTS', P .. 's:' .. ARGV[i]) == 1 then raise(ARGV[i], ARGV[i + 1]) end
end
drop('free:' .. call('HGET', s, 'group'), sender)
set(sender, 'queue', queue)

local run, placed = '', false -- in order of their sequence
for other in string.gmatch(others, '[^,]+') do
  if not placed and tonumber((header(other))) > tonumber(seq) then run, placed = with(run, uid), true end
  run = with(run, other)
end
q.hold, q.holder, q.waiting, q.run, q.sender = '', '', q.waiting - 1, placed and run or with(run, uid), sender
left(q, uid, seq)
waits(typ, -1)
if ARGV[5] ~= '' then strings['b:' .. uid] = ARGV[5] end
carry(t, sender)
t.record, t.revision, t.phase, t.open, t.due = ARGV[7], t.revision + 1, ARGV[10], ARGV[4], ''
t.since = stamp
claim(t, me)
write(t)
put('past:' .. queue, seq, uid)
put('bound', seq, uid)
event('t', uid, sender, 'waiting', t.phase, '', 'ADOPTED', q)
place(q)
flush()
return { 'ok' }
