-- bind gives free senders to ready queues: of the queues whose head has a type
-- of the caller, the one whose head is oldest; of the senders of the caller's
-- groups, the one that has rested longest; again and again, until one of the
-- two runs out.
--
-- ARGV[1]  incarnation of the calling process
-- ARGV[2]  the most pairs to bind
-- ARGV[3]  milliseconds until a claim that is not taken up is due
-- ARGV[4]  number of types, then the types, then the groups
--
-- Answer: {now, {queue's transaction as in get, sender, url, next nonce or ""} …}
local incarnation, most, grace, ntypes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local answer = { now }
-- Nobody takes over from a process that is not known, so it gets no claims.
local ends = call('ZSCORE', P .. 'procs', incarnation)
if not ends or tonumber(ends) <= now then return answer end
for _ = 1, most do
  local sender, used, group
  for g = 5 + ntypes, #ARGV do
    local s = call('ZRANGE', P .. 'free:' .. ARGV[g], 0, 0, 'WITHSCORES')
    if s[1] and (not used or tonumber(s[2]) < used) then sender, used, group = s[1], tonumber(s[2]), ARGV[g] end
  end
  if not sender then break end
  local queue, oldest, typ
  for i = 5, 4 + ntypes do
    local r = call('ZRANGE', P .. 'ready:' .. ARGV[i], 0, 0, 'WITHSCORES')
    if r[1] and (not oldest or tonumber(r[2]) < oldest) then queue, oldest, typ = r[1], tonumber(r[2]), ARGV[i] end
  end
  if not queue then break end
  local uid = head(queue)
  local seq, _, kind
  if uid then seq, _, kind = header(uid) end
  if kind ~= typ or tonumber(seq) ~= oldest then
    place(queue) -- the set was behind the queue; look again
  else
    local q, x, s = P .. 'q:' .. queue, P .. 'x:' .. uid, P .. 's:' .. sender
    call('ZREM', P .. 'ready:' .. typ, queue)
    call('HDEL', q, 'ready', 'hold', 'holder')
    if call('ZREM', P .. 'back:' .. queue, uid) == 0 then
      call('LPOP', P .. 'line:' .. queue)
      call('HSET', q, 'popped', seq)
    end
    call('HINCRBY', q, 'w', -1)
    call('HSET', q, 'run', uid, 'sender', sender)
    call('ZADD', P .. 'past:' .. queue, seq, uid)
    call('ZADD', P .. 'st:DISPATCHING', seq, uid)
    call('ZREM', P .. 'free:' .. group, sender)
    call('HSET', s, 'queue', queue)
    local token = incarnation .. ':' .. call('INCR', P .. 'n:claim')
    call('HINCRBY', x, 'rev', 1)
    call('HSET', x, 'phase', 'dispatching', 'at', now, 'claim', token, 'sender', sender)
    call('ZADD', P .. 'own:' .. incarnation, now + grace, uid)
    event('t', uid, sender, 'waiting', 'dispatching', '', '')
    local v = call('HMGET', s, 'url', 'next')
    answer[#answer + 1] = { load(uid), sender, v[1] or '', v[2] or '' }
  end
end
return answer
