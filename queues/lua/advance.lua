-- advance is the one guarded change of a transaction: it compares the revision
-- and the claim, stores the new phase and fields, and moves the queue, the
-- sender, every index and the event log along with them.
--
-- Changes that come together share a run, each for itself; see shared.lua. ARGV of
-- each:
--   1  uid
--   2  the revision that the change was decided on
--   3  the claim token; "*" for a change by a person, which no claim guards
--   4  operation id: the same one again gets the first answer
--   5  phase to take
--   6  milliseconds from now until the phase is due, -1 for never
--   7  code for the event, 8 attempt number for the event
--  then parts, each headed by its name and how many words follow:
--   x  fields and values                      t  fields that become now
--   d  fields that are removed                f  facts: kept if they are there
--   s  fields and values of the sender; an empty value removes
--   n  accounts and the least that the next nonce of each is from now on
--   b  signed bytes; "" drops them
--   l  an account and the nonce with which it stands on the chain; "" for none
--   r  the least revision to take             g  refuse unless settled, see lib.lua
--   o  only if no earlier one of its queue has come back to wait
--   m  what its attempts cost by now, in nanomina; the most that the fees of the
--      day may come to, for its sender and for all, 0 for no limit
--   k  keep the claim where the phase would give it up
--   h  milliseconds that the queue waits for the answer of a callback, which is
--      among the fields; milliseconds until another process may tell it
--   p  milliseconds that the queue is left alone
--   w  milliseconds to rest the sender, -1 until resumed; why; who gives the
--      reason, "" for nobody; and words
--   e  milliseconds after which the record is removed
--   u  how many UNRESOLVED in a row pause the queue or, over several queues, rest
--      the sender
--
-- Answer, for each change: {"ok", revision, "1" if a bind may have become
--   possible, now}, {"stale", revision}, {"fenced", revision},
--   {"unsettled", revision}, {"overtaken", revision}, {"gone"}, {"error", text}:
--   what went wrong with it, or {"costly", revision, "sender" or "all": whose limit,
--   the fees of the day so far, milliseconds until the day is over}

-- The indexes that no change of a run reads are written once for all of them.
-- put has a member stand in one, drop has it leave; the last word holds.
local later = {} -- for each index, the score of a member, or false
local function put(index, score, member)
  later[index] = later[index] or {}
  later[index][member] = score
end
local function drop(index, member) put(index, false, member) end

local function write()
  for index, members in pairs(later) do
    local stand, gone = {}, {}
    for member, score in pairs(members) do
      if score then stand[#stand + 1], stand[#stand + 2] = score, member else gone[#gone + 1] = member end
    end
    if #stand > 0 then call('ZADD', P .. index, unpack(stand)) end
    if #gone > 0 then call('ZREM', P .. index, unpack(gone)) end
  end
end

-- streak counts what ended UNRESOLVED in a row, by queue and by sender.
local function streak(queue, sender, limit)
  local q, s = P .. 'q:' .. queue, P .. 's:' .. sender
  local reason = limit .. ' transactions in a row ended UNRESOLVED'
  local n = call('HINCRBY', q, 'streak', 1)
  if n >= limit and call('HSETNX', q, 'paused', reason) == 1 then
    event('q', queue, sender, '', '', '', 'PAUSED')
  end
  if sender ~= '' and call('HINCRBY', s, 'streak', 1) >= limit and n < limit then rest(sender, -1, 'RESTED') end
end

-- known ends that a sender is out of use because nobody knew what became of a
-- transaction. It answers whether the sender is free by that.
local function known(uid, sender)
  local unknown = 'why:OUTCOME_UNKNOWN:' .. uid
  if not lift(sender, function(field) return field == unknown end) then return false end
  event('s', sender, sender, '', '', '', 'RESUMED')
  return offer(sender)
end

-- tell stores the fields of the sender.
local function tell(key, first, last)
  for i = first, last, 2 do
    if ARGV[i + 1] == '' then call('HDEL', key, ARGV[i]) else call('HSET', key, ARGV[i], ARGV[i + 1]) end
  end
end

local function advance(o, n)
  local uid, decided, claim, op, to, due, code, number = unpack(ARGV, o + 1, o + 8)
  local first, last = {}, {} -- words of each part
  local i = o + 9
  while i <= o + n do
    local part = ARGV[i]
    first[part], last[part] = i + 2, i + 1 + tonumber(ARGV[i + 1])
    i = last[part] + 1
  end

  local x = P .. 'x:' .. uid
  local wanted = { 'rev', 'op', 'claim', 'phase', 'sender', 'due', 'at', 'overtaken', 'fees' }
  local facts = #wanted -- stand behind these
  for f = first.f or 1, last.f or 0, 2 do wanted[#wanted + 1] = ARGV[f] end
  local v = call('HMGET', x, unpack(wanted))
  local rev = tonumber(v[1] or '0')
  local from, sender = v[4] or 'waiting', v[5] or ''
  local moved = from ~= to
  -- Between bound phases nothing moves but the transaction.
  local leaves = moved and not (BOUND[from] and BOUND[to])
  local seq, queue, typ, _
  if leaves or rev == 0 or first.h then
    seq, _, typ, queue = header(uid)
    if not seq then return { 'gone' } end
  end
  if v[2] == op then return { 'ok', rev, 1, now } end
  -- The claim comes first: a take-over also counts the revision up, and who has
  -- lost a claim is to let go, not to read again.
  if claim ~= '*' and (v[3] or '') ~= claim then return { 'fenced', rev } end
  if rev ~= tonumber(decided) then return { 'stale', rev } end
  if first.g and not settled() then return { 'unsettled', rev } end
  if first.o and v[8] then return { 'overtaken', rev } end
  local fees, passed
  if first.m then
    fees, passed = charge(sender, v[9], tonumber(ARGV[first.m]), tonumber(ARGV[first.m + 1]), tonumber(ARGV[first.m + 2]))
    if passed then
      return { 'costly', rev, passed[1], string.format('%.0f', passed[2]), DAY - now % DAY }
    end
  end
  local revision = math.max(rev, first.r and tonumber(ARGV[first.r]) or 0) + 1

  -- The claim, and when the phase is due.
  local incarnation = v[3] and string.match(v[3], '^(.*):%d+$')
  due = tonumber(due)
  due = due >= 0 and now + due or 0
  if not incarnation then
    if first.d then call('HDEL', x, unpack(ARGV, first.d, last.d)) end
  elseif BOUND[to] or first.k then
    if claim == '*' then
      put('own:' .. incarnation, now, uid) -- whoever holds it is to look
      if due == 0 then due = '' end -- and its next change says when again
    elseif due > 0 or v[6] ~= '0' then
      put('own:' .. incarnation, due > 0 and due or '+inf', uid)
    end
    if first.d then call('HDEL', x, unpack(ARGV, first.d, last.d)) end
  else
    drop('own:' .. incarnation, uid)
    call('HDEL', x, 'claim', unpack(ARGV, first.d or 1, last.d or 0))
  end

  -- What is stored of it.
  local fields = {
    'rev', revision, 'op', op, 'due', due, 'phase', to, 'at', moved and stamp or v[7] or '',
    unpack(ARGV, first.x or 1, last.x or 0),
  }
  if fees then fields[#fields + 1], fields[#fields + 2] = 'fees', fees end
  for w = first.t or 1, last.t or 0 do fields[#fields + 1], fields[#fields + 2] = ARGV[w], stamp end
  for f = facts + 1, #wanted do
    if not v[f] then fields[#fields + 1], fields[#fields + 2] = wanted[f], ARGV[first.f + 2 * (f - facts) - 1] end
  end
  call('HSET', x, unpack(fields))
  if first.b then
    local signed = ARGV[first.b]
    if signed == '' then call('DEL', P .. 'b:' .. uid) else call('SET', P .. 'b:' .. uid, signed) end
  end
  if first.l then
    local landed, nonce = P .. 'landed:' .. ARGV[first.l], ARGV[first.l + 1]
    if nonce == '' then call('ZREM', landed, uid) else call('ZADD', landed, nonce, uid) end
  end

  -- The sender: rested first, so that a release does not offer it. Nobody removes
  -- one that is bound.
  local s = P .. 's:' .. sender
  if first.s and sender ~= '' and (BOUND[from] or call('EXISTS', s) == 1) then tell(s, first.s, last.s) end
  for n = first.n or 1, last.n or 0, 2 do
    local account = P .. 's:' .. ARGV[n]
    if ARGV[n] == sender and BOUND[from] or call('EXISTS', account) == 1 then raise(account, 'next', ARGV[n + 1]) end
  end
  if sender ~= '' and first.w then
    local ms, reason, giver, words = unpack(ARGV, first.w, last.w)
    rest(sender, tonumber(ms), reason, reason == 'OUTCOME_UNKNOWN' and uid or giver ~= '' and giver, words)
  end

  -- The queue and the indexes.
  local possible, q = false, P .. 'q:' .. (queue or '')
  if from == 'unresolved' and sender ~= '' and tonumber(call('HGET', x, 'open') or '0') == 0 then
    possible = known(uid, sender)
  end
  if rev == 0 then call('ZADD', P .. 'past:' .. queue, seq, uid) end
  if leaves then
    if INDEX[from] then drop(INDEX[from], uid) end
    if INDEX[to] then put(INDEX[to], seq, uid) end
    if COUNT[from] then call('HINCRBY', q, COUNT[from], -1) end
    if COUNT[to] then call('HINCRBY', q, COUNT[to], 1) end
    if from == 'waiting' or to == 'waiting' then waits(typ, to == 'waiting' and 1 or -1) end
    if from == 'waiting' then
      call('ZREM', P .. 'back:' .. queue, uid)
    elseif to == 'waiting' and tonumber(seq) <= tonumber(call('HGET', q, 'popped') or '0') then
      call('ZADD', P .. 'back:' .. queue, seq, uid)
    end
    if to == 'waiting' then call('HDEL', x, 'overtaken') end
    if from == 'done' then
      -- It was not the end: nobody is told so, or waits until somebody is.
      call('HDEL', x, 'callback', 'tries')
      drop('due', 'c:' .. uid)
      if call('HGET', q, 'holder') == uid then call('HDEL', q, 'hold', 'holder') end
      -- What runs now comes after it.
      local run = to == 'waiting' and call('HGET', q, 'run')
      if run and tonumber((header(run))) > tonumber(seq) then call('HSET', P .. 'x:' .. run, 'overtaken', 1) end
    end
    if BOUND[from] then
      if to == 'unresolved' and first.u then streak(queue, sender, tonumber(ARGV[first.u])) end
      local ends = to == 'done' -- a streak
      call('HDEL', q, 'run', 'sender', ends and 'streak' or 'run')
      if sender ~= '' then
        call('HDEL', s, 'queue', ends and 'streak' or 'queue')
        possible = offer(sender)
      end
    end
  end
  if moved or code ~= '' then event('t', uid, sender, from, to, number, code) end

  -- What is to be done at a time.
  local hold
  if first.h then
    hold = now + tonumber(ARGV[first.h])
    call('HSET', q, 'hold', hold, 'holder', uid)
    put('due', hold, 'q:' .. queue)
    put('due', now + tonumber(ARGV[first.h + 1]), 'c:' .. uid)
  end
  if first.p then
    hold = now + tonumber(ARGV[first.p])
    call('HSET', q, 'hold', hold)
    call('HDEL', q, 'holder')
    put('due', hold, 'q:' .. queue)
  end
  if first.e then
    put('due', now + tonumber(ARGV[first.e]), 'x:' .. uid)
  elseif leaves and not BOUND[from] then
    drop('due', 'x:' .. uid)
  end

  -- A queue that holds for the callback of what ran is not ready.
  local held = BOUND[from] and hold and hold > now
  if leaves and not BOUND[to] and not held and place(queue) then possible = true end
  if possible then wake() end
  return { 'ok', revision, possible and 1 or 0, now }
end

local answers = each(advance)
write()
return answers
