-- adopt gives a transaction back what Redis has forgotten of it: that it was bound
-- to a sender, and its attempts. It is bound to that sender again, in its queue, for
-- the calling process to go on with.
--
-- ARGV[1]  uid, ARGV[2] sender, ARGV[3] incarnation of the calling process
-- ARGV[4]  nonce that the sender's next attempt takes at least, "" to leave it
-- ARGV[5]  what was posted, if the transaction as such may be forgotten; else ""
-- ARGV[6]  how many of its attempts are open
-- ARGV[7]  signed bytes, or ""
-- ARGV[8]  revision that the record was made of; 0 if it was not there
-- ARGV[9]  revision at which it is taken from another sender that it is bound to
-- ARGV[10] the record
-- then pairs: an account and the least that its next nonce is
-- Answer:  "ok"; "gone" if there is no such transaction; "stale" if it has changed;
--          "moved" if it is not waiting, and not to be taken; {"queue" or "sender", uid
--          of the transaction that is bound in its place}: it is astray until that one
--          has ended
-- Cost:    some forty commands, and two for each that is astray
local uid, sender, me, posted = ARGV[1], ARGV[2], ARGV[3], ARGV[5]
local s = P .. 's:' .. sender
local seq, _, typ, queue = header(uid)
if not seq and posted == '' then return 'gone' end
local t = txn(uid)
if t.revision ~= tonumber(ARGV[8]) then return 'stale' end
if t.phase ~= 'waiting' and (not BOUND[t.phase] or t.sender == sender or t.revision ~= tonumber(ARGV[9])) then return 'moved' end

if not seq then
  -- Its place is the one it had, unless another one has that by now.
  local last = tonumber(call('GET', P .. 'n:seq') or '0')
  local was, received, rest_
  was, received, typ, queue, rest_ = string.match(posted, '^(%d+) (%d+) (%S+) (%S+)(\n.*)$')
  seq = string.format('%.0f', math.max(tonumber(was), last + 1))
  call('SET', P .. 't:' .. uid, seq .. ' ' .. received .. ' ' .. typ .. ' ' .. queue .. rest_)
  call('SET', P .. 'n:seq', seq)
  local page = math.floor(tonumber(seq) / 512)
  call('RPUSH', P .. 'page:' .. page, uid)
  call('RPUSH', P .. 'line:' .. queue, uid)
  put('pages', page, page)
  put('queues', 0, queue)
  waits(typ, 1)
  que(queue).there = true
  que(queue).waiting = que(queue).waiting + 1
  event('t', uid, '', '', 'waiting', '', 'RESTORED')
end
local q = que(queue)
if t.phase ~= 'waiting' then
  -- That the other one released it is forgotten.
  if owner(t) then drop('own:' .. owner(t), uid) end
  drop('bound', uid)
  q.run, q.sender, q.waiting = '', '', q.waiting + 1
  waits(typ, 1)
  came(q, uid, seq)
  event('t', uid, t.sender, t.phase, 'waiting', '', 'RESTORED')
  call('HSET', P .. 's:' .. t.sender, 'queue', '')
  offer(t.sender)
end

-- What is known of it holds whether there is a place or not.
t.record = ARGV[10]
if ARGV[7] ~= '' then strings['b:' .. uid] = ARGV[7] end
for i = 11, #ARGV, 2 do
  if call('EXISTS', P .. 's:' .. ARGV[i]) == 1 then raise(ARGV[i], ARGV[i + 1]) end
end
t.revision, t.phase, t.open, t.sender, t.claim, t.due = t.revision + 1, 'waiting', ARGV[6], sender, '', ''
if t.since == '' then t.since = stamp end
put('past:' .. queue, seq, uid)

if call('HEXISTS', s, 'group') == 0 then
  -- It was registered, which is forgotten too: a person says what it is to do.
  call('HSET', s, 'url', '', 'source', 'api', 'group', 'shared', 'reason', 'DRAINING', 'why:DRAINING:forgotten', 0)
  put('senders', 0, sender)
  event('s', sender, sender, '', '', '', 'RESTORED')
end
local v = call('HMGET', s, 'queue', 'group')
local carries, group = v[1] or '', v[2]
drop('free:' .. group, sender)
if q.run ~= '' or carries ~= '' then
  -- Whoever is released first waits for this one.
  q.astray = uid
  call('HSET', s, 'astray', uid)
  put('astray', seq, uid)
  write(t)
  place(q)
  flush()
  return { q.run ~= '' and 'queue' or 'sender', q.run ~= '' and q.run or que(carries).run }
end

-- Queue and sender stay kept for the next that waits for them: bound to another
-- sender, it would be sent by both.
local forQueue, forSender = '', ''
for _, other in ipairs(call('ZRANGE', P .. 'astray', 0, 499)) do
  local _, _, _, its = header(other)
  if other ~= uid and its and txn(other).phase == 'waiting' then
    if its == queue and forQueue == '' then forQueue = other end
    if txn(other).sender == sender and forSender == '' then forSender = other end
  end
end
drop('astray', uid)
q.astray = forQueue
call('HSET', s, 'astray', forSender, 'queue', queue)
if ARGV[4] ~= '' then raise(sender, ARGV[4]) end
q.hold, q.holder, q.waiting, q.run, q.sender = '', '', q.waiting - 1, uid, sender
left(q, uid, seq)
waits(typ, -1)
t.phase, t.since, t.claim = 'dispatching', stamp, me .. ':' .. call('INCR', P .. 'n:claim')
write(t)
put('bound', seq, uid)
put('own:' .. me, now, uid)
call('ZADD', P .. 'procs', 'NX', now, me) -- if that is forgotten: for others to take over, unless it beats
event('t', uid, sender, 'waiting', 'dispatching', '', 'ADOPTED')
place(q)
flush()
return 'ok'
