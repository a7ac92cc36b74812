-- adopt gives a transaction back what Redis has forgotten of it: that it was
-- bound to a sender, and its attempts. It is bound to that sender again, in its
-- queue, for the calling process to go on with.
--
-- ARGV[1]  uid, ARGV[2] sender, ARGV[3] incarnation of the calling process
-- ARGV[4]  nonce that the sender's next attempt takes at least, "" to leave it
-- ARGV[5]  the record, if the transaction as such may be forgotten; else ""
-- ARGV[6]  how many of its attempts are open
-- ARGV[7]  signed bytes, or ""
-- ARGV[8]  revision at which it is taken from another sender that it is bound to
-- then triplets: part, field, value, of an attempt: x is stored, f is kept if it
--          is there; n: an account and the least that its next nonce is
-- Answer: "ok"; "gone" if there is no such transaction; "moved" if it is not
--         waiting, and not to be taken; {"queue" or "sender", uid of the transaction that is
--         bound in its place}: it is astray until that one has ended
local uid, sender, me, record = ARGV[1], ARGV[2], ARGV[3], ARGV[5]
local x, s = P .. 'x:' .. uid, P .. 's:' .. sender
local seq, _, typ, queue = header(uid)
if not seq then
  if record == '' then return 'gone' end
  -- Its place is the one it had, unless another one has that by now.
  local last = tonumber(call('GET', P .. 'n:seq') or '0')
  local was, rest_ = string.match(record, '^(%d+)( .*)$')
  seq = math.max(tonumber(was), last + 1)
  call('SET', P .. 't:' .. uid, string.format('%d', seq) .. rest_)
  call('SET', P .. 'n:seq', seq)
  _, _, typ, queue = header(uid)
  waits(typ, 1)
  local page = math.floor(seq / 512)
  call('RPUSH', P .. 'page:' .. page, uid)
  call('ZADD', P .. 'pages', page, page)
  call('RPUSH', P .. 'line:' .. queue, uid)
  call('ZADD', P .. 'queues', 0, queue)
  call('HINCRBY', P .. 'q:' .. queue, 'w', 1)
  event('t', uid, '', '', 'waiting', '', 'RESTORED')
end
local q = P .. 'q:' .. queue
local v = call('HMGET', x, 'phase', 'sender', 'rev', 'claim')
local phase, with = v[1] or 'waiting', v[2] or ''
if phase ~= 'waiting' then
  if not BOUND[phase] or with == sender or v[3] ~= ARGV[8] then return 'moved' end
  -- That the other one let go of it is forgotten.
  local incarnation = string.match(v[4] or '', '^(.*):%d+$')
  if incarnation then call('ZREM', P .. 'own:' .. incarnation, uid) end
  call('HDEL', x, 'claim')
  call('ZREM', P .. 'bound', uid)
  call('HDEL', q, 'run', 'sender')
  call('HINCRBY', q, 'w', 1)
  waits(typ, 1)
  if tonumber(seq) <= tonumber(call('HGET', q, 'popped') or '0') then call('ZADD', P .. 'back:' .. queue, seq, uid) end
  event('t', uid, with, phase, 'waiting', '', 'RESTORED')
  call('HDEL', P .. 's:' .. with, 'queue')
  if offer(with) then wake() end
end

-- Facts first: they hold whether there is a place or not.
for i = 9, #ARGV, 3 do
  local part, field, value = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if part ~= 'n' then
    call(part == 'f' and 'HSETNX' or 'HSET', x, field, value)
  elseif call('EXISTS', P .. 's:' .. field) == 1 then
    raise(P .. 's:' .. field, 'next', value)
  end
end
if ARGV[7] ~= '' then call('SET', P .. 'b:' .. uid, ARGV[7]) end
call('HINCRBY', x, 'rev', 1)
call('HSET', x, 'phase', 'waiting', 'open', ARGV[6], 'sender', sender)
call('HSETNX', x, 'at', now)
call('ZADD', P .. 'past:' .. queue, seq, uid)

if call('EXISTS', s) == 0 then
  -- It was registered, which is forgotten too: a person says what it is to do.
  call('HSET', s, 'url', '', 'source', 'api', 'group', 'shared', 'reason', 'DRAINING', 'why:DRAINING:forgotten', 0)
  call('ZADD', P .. 'senders', 0, sender)
  event('s', sender, sender, '', '', '', 'RESTORED')
end
local runs = call('HGET', q, 'run')
local carries = call('HGET', s, 'queue')
if runs or carries then
  -- Whoever is let go first waits for this one.
  call('HSET', q, 'astray', uid)
  call('HSET', s, 'astray', uid)
  call('ZREM', P .. 'free:' .. call('HGET', s, 'group'), sender)
  call('ZADD', P .. 'astray', seq, uid)
  place(queue)
  return { runs and 'queue' or 'sender', runs or call('HGET', P .. 'q:' .. carries, 'run') or '' }
end
call('ZREM', P .. 'astray', uid)
call('HDEL', q, 'hold', 'holder')
-- Queue and sender stay kept for the next that waits for them: bound to another
-- sender, it would be sent by both.
local keeper = {}
for _, other in ipairs(call('ZRANGE', P .. 'astray', 0, 499)) do
  local _, _, _, its = header(other)
  local v = call('HMGET', P .. 'x:' .. other, 'phase', 'sender')
  if its and v[1] == 'waiting' then
    if its == queue then keeper[q] = keeper[q] or other end
    if v[2] == sender then keeper[s] = keeper[s] or other end
  end
end
for _, key in ipairs({ q, s }) do
  if keeper[key] then call('HSET', key, 'astray', keeper[key]) else call('HDEL', key, 'astray') end
end
call('ZREM', P .. 'back:' .. queue, uid)
call('HINCRBY', q, 'w', -1)
waits(typ, -1)
call('HSET', q, 'run', uid, 'sender', sender)
call('ZADD', P .. 'bound', seq, uid)
call('ZREM', P .. 'free:' .. call('HGET', s, 'group'), sender)
call('HSET', s, 'queue', queue)
if ARGV[4] ~= '' then raise(s, 'next', ARGV[4]) end
call('HSET', x, 'phase', 'dispatching', 'at', now, 'due', '', 'claim', me .. ':' .. call('INCR', P .. 'n:claim'))
call('ZADD', P .. 'own:' .. me, now, uid)
call('ZADD', P .. 'procs', 'NX', now, me) -- if that is forgotten: for others to take over, unless it beats
event('t', uid, sender, 'waiting', 'dispatching', '', 'ADOPTED')
place(queue)
return 'ok'
