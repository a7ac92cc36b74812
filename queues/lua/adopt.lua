-- adopt gives a transaction back what Redis has forgotten of it: that it was bound
-- to a sender, and its attempts. It is bound to that sender again, in its queue, for
-- the calling process to go on with.
--
-- ARGV[1]  uid, ARGV[2] sender, ARGV[3] incarnation of the calling process
-- ARGV[4]  what was posted, for the transaction as such may be forgotten
-- ARGV[5]  how many of its attempts are open, ARGV[6] signed bytes, or ""
-- ARGV[7]  revision that the record was made of; 0 if it was not there
-- ARGV[8]  the record
-- then pairs: an account and the least that its next nonce is
-- Answer:  {"ok"}; {"stale"} if it is final or has changed; {"taken", uid} of what is
--          bound in its place: nothing is stored, and the namespace is settled no longer
-- Cost:    some forty commands
local uid, sender, me = ARGV[1], ARGV[2], ARGV[3]
local s = P .. 's:' .. sender
local seq, _, typ, queue = header(uid)
local t = txn(uid)
if t.revision ~= tonumber(ARGV[7]) or t.phase ~= 'waiting' and not BOUND[t.phase] then return { 'stale' } end

local forgotten, was, received, posted = not seq, string.match(ARGV[4], '^(%d+) (%d+) (%S+ [^\n]+\n.*)$')
if forgotten then typ, queue = string.match(posted, '^(%S+) (%S+)\n') end
local q, carries = que(queue), call('HGET', s, 'queue') or ''
local by = q.run ~= '' and q.run ~= uid and q.run or carries ~= '' and que(carries).run
if by == uid then return { 'stale' } end
if by then
  -- Until that one has ended nothing may run in its place: not this one on another
  -- sender, nor another one on this.
  call('SET', P .. 'is:server', '')
  return { 'taken', by }
end

if forgotten then
  -- Its place is the one it had, unless another one has that by now.
  seq = string.format('%.0f', math.max(tonumber(was), tonumber(call('GET', P .. 'n:seq') or '0') + 1))
  call('SET', P .. 't:' .. uid, seq .. ' ' .. received .. ' ' .. posted)
  call('SET', P .. 'n:seq', seq)
  local batch = string.match(posted, '^%S+ %S+ (%S+)\n')
  if batch then strings[batchKey(typ, batch)] = uid end
  local page = math.floor(tonumber(seq) / 512)
  call('RPUSH', P .. 'page:' .. page, uid)
  call('RPUSH', P .. 'line:' .. queue, uid)
  put('pages', page, page)
  put('queues', 0, queue)
  waits(typ, 1)
  q.there, q.waiting = true, q.waiting + 1
  event('t', uid, '', '', 'waiting', '', 'RESTORED')
elseif t.phase ~= 'waiting' then
  -- That the other one released it is forgotten.
  if owner(t) then drop('own:' .. owner(t), uid) end
  q.waiting = q.waiting + 1
  waits(typ, 1)
  came(q, uid, seq)
  event('t', uid, t.sender, t.phase, 'waiting', '', 'RESTORED')
  call('HSET', P .. 's:' .. t.sender, 'queue', '')
  offer(t.sender)
end
if call('HEXISTS', s, 'group') == 0 then
  -- It was registered, which is forgotten too: a person says what it is to do.
  call('HSET', s, 'url', '', 'source', 'api', 'group', 'shared', 'reason', 'DRAINING', 'why:DRAINING:forgotten', 0)
  put('senders', 0, sender)
  event('s', sender, sender, '', '', '', 'RESTORED')
end
for i = 9, #ARGV, 2 do
  if call('EXISTS', P .. 's:' .. ARGV[i]) == 1 then raise(ARGV[i], ARGV[i + 1]) end
end
drop('free:' .. call('HGET', s, 'group'), sender)
call('HSET', s, 'queue', queue)

q.hold, q.holder, q.waiting, q.run, q.sender = '', '', q.waiting - 1, uid, sender
left(q, uid, seq)
waits(typ, -1)
if ARGV[6] ~= '' then strings['b:' .. uid] = ARGV[6] end
t.record, t.revision, t.phase, t.open, t.sender, t.due = ARGV[8], t.revision + 1, 'dispatching', ARGV[5], sender, ''
t.since, t.claim = stamp, me .. ':' .. call('INCR', P .. 'n:claim')
write(t)
put('past:' .. queue, seq, uid)
put('bound', seq, uid)
put('own:' .. me, now, uid)
call('ZADD', P .. 'procs', 'NX', now, me) -- if that is forgotten: for others to take over, unless its heartbeat comes
event('t', uid, sender, 'waiting', 'dispatching', '', 'ADOPTED')
place(q)
flush()
return { 'ok' }
