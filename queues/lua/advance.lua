-- advance is the one guarded change of a transaction: it compares the revision
-- and the claim, stores the new phase and fields, and moves the queue, the
-- sender, every index and the event log along with them.
--
-- ARGV[1]  uid
-- ARGV[2]  the revision that the change was decided on
-- ARGV[3]  the claim token; "*" for a change by a person, which no claim guards
-- ARGV[4]  operation id: the same one again gets the first answer
-- ARGV[5]  phase to take
-- ARGV[6]  milliseconds from now until the phase is due, -1 for never
-- ARGV[7]  "1" to keep the claim where the phase would give it up
-- ARGV[8]  code for the event, ARGV[9] attempt number for the event
-- ARGV[10] callback to be told, or "", ARGV[11] milliseconds the queue waits for
--          its answer, ARGV[12] milliseconds until another process may tell it
-- ARGV[13] milliseconds to rest the sender, 0 for no rest, -1 until resumed;
--          ARGV[14] the reason
-- ARGV[15] milliseconds after which the record is removed, -1 for never
-- ARGV[16] how many UNRESOLVED in a row pause the queue or, over several queues,
--          rest the sender; 0 for no limit
-- then triplets: part, field, value
--    x  field of the transaction   a  field of an attempt   f  the same, but a
--    fact: kept if it is there     s  field of the sender    b  signed bytes
--    l  nonce with which it stands on the chain, by account
--    ("" drops them). An empty value removes the field; "@" stands for now.
--
-- Answer: {"ok", revision, "1" if a bind may have become possible, now},
--         {"stale", revision}, {"fenced", revision} or {"gone"}
local uid, claim, op, to = ARGV[1], ARGV[3], ARGV[4], ARGV[5]
local x = P .. 'x:' .. uid
local v = call('HMGET', x, 'rev', 'op', 'claim', 'phase', 'sender', 'due')
local rev = tonumber(v[1] or '0')
local from, sender = v[4] or 'waiting', v[5]
local moved = from ~= to
-- Between bound phases nothing moves but the transaction.
local leaves = moved and not (BOUND[from] and BOUND[to])
local seq, queue, _
if leaves or rev == 0 or ARGV[10] ~= '' then
  seq, _, _, queue = header(uid)
  if not seq then return { 'gone' } end
end
if v[2] == op then return { 'ok', rev, 1, now } end
-- The claim comes first: a take-over also counts the revision up, and who has
-- lost a claim is to let go, not to read again.
if claim ~= '*' and (v[3] or '') ~= claim then return { 'fenced', rev } end
if rev ~= tonumber(ARGV[2]) then return { 'stale', rev } end

local incarnation = v[3] and string.match(v[3], '^(.*):%d+$')
local q, s = P .. 'q:' .. (queue or ''), P .. 's:' .. (sender or '')

-- streak counts what ended UNRESOLVED in a row, by queue and by sender.
local function streak(limit)
  local reason = limit .. ' transactions in a row ended UNRESOLVED'
  if call('HINCRBY', q, 'streak', 1) >= limit and call('HSETNX', q, 'paused', reason) == 1 then
    event('q', queue, sender or '', '', '', '', 'PAUSED')
  end
  if sender and call('HINCRBY', s, 'streak', 1) >= limit
    and tonumber(call('HGET', q, 'streak')) < limit
    and call('HSETNX', s, 'reason', 'RESTED') == 1 then
    event('s', sender, sender, '', '', '', 'RESTED')
  end
end

-- Fields are gathered first, so that each record is written once. Where a field
-- is named twice the last value holds; of a fact, the first.
local fields = { x = {}, a = {}, s = {} }
local facts, known = {}, {}
for i = 17, #ARGV, 3 do
  local part, field, value = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if value == '@' then value = now end
  if part == 'f' then
    if not known[field] then facts[#facts + 1], known[field] = field, value end
  elseif part == 'l' then
    local landed = P .. 'landed:' .. field
    if value == '' then call('ZREM', landed, uid) else call('ZADD', landed, value, uid) end
  elseif part == 'b' then
    if value == '' then call('DEL', P .. 'b:' .. uid) else call('SET', P .. 'b:' .. uid, value) end
  else
    fields[part][field] = value
  end
end
if #facts > 0 then
  for i, stored in ipairs(call('HMGET', P .. 'a:' .. uid, unpack(facts))) do
    if not stored then fields.a[facts[i]] = known[facts[i]] end
  end
end

-- write stores gathered fields; an empty value removes the field.
local function write(key, gathered)
  local set, unset = {}, {}
  for field, value in pairs(gathered) do
    if value == '' then
      unset[#unset + 1] = field
    else
      set[#set + 1], set[#set + 2] = field, value
    end
  end
  if #unset > 0 then call('HDEL', key, unpack(unset)) end
  if #set > 0 then call('HSET', key, unpack(set)) end
end

-- The claim, and when the phase is due.
local due = tonumber(ARGV[6])
due = due >= 0 and now + due or 0
if BOUND[to] or ARGV[7] == '1' then
  if incarnation and (due > 0 or v[6] ~= '0') then
    call('ZADD', P .. 'own:' .. incarnation, due > 0 and due or '+inf', uid)
  end
elseif incarnation then
  call('ZREM', P .. 'own:' .. incarnation, uid)
  fields.x.claim = ''
end
fields.x.rev, fields.x.op, fields.x.due = rev + 1, op, due
if moved or rev == 0 then fields.x.phase = to end
if moved then fields.x.at = now end
if ARGV[10] ~= '' then fields.x.callback, fields.x.tries = ARGV[10], 0 end
write(x, fields.x)
if next(fields.a) then write(P .. 'a:' .. uid, fields.a) end
-- Nobody removes a sender that is bound.
if sender and next(fields.s) and (BOUND[from] or call('EXISTS', s) == 1) then write(s, fields.s) end

-- The sender: rested first, so that a release does not offer it.
if sender and ARGV[13] ~= '0' then rest(sender, tonumber(ARGV[13]), ARGV[14]) end

-- The queue and the indexes.
local possible = false
if rev == 0 then call('ZADD', P .. 'past:' .. queue, seq, uid) end
if leaves then
  if INDEX[from] then call('ZREM', P .. INDEX[from], uid) end
  if INDEX[to] then call('ZADD', P .. INDEX[to], seq, uid) end
  if COUNT[from] then call('HINCRBY', q, COUNT[from], -1) end
  if COUNT[to] then call('HINCRBY', q, COUNT[to], 1) end
  if from == 'waiting' then
    call('ZREM', P .. 'back:' .. queue, uid)
  elseif to == 'waiting' and tonumber(seq) <= tonumber(call('HGET', q, 'popped') or '0') then
    call('ZADD', P .. 'back:' .. queue, seq, uid)
  end
  if from == 'done' then
    -- It was not the end: nobody is told so, or waits until somebody is.
    call('HDEL', x, 'callback', 'tries')
    call('ZREM', P .. 'due', 'c:' .. uid)
    if call('HGET', q, 'holder') == uid then call('HDEL', q, 'hold', 'holder') end
  end
  if BOUND[from] then
    if to == 'unresolved' and tonumber(ARGV[16]) > 0 then streak(tonumber(ARGV[16])) end
    local ends = to == 'done' -- a streak of UNRESOLVED
    call('HDEL', q, 'run', 'sender', ends and 'streak' or 'run')
    if sender then
      call('HDEL', s, 'queue', ends and 'streak' or 'queue')
      if offer(sender) then possible = true end
    end
  end
end
if moved or ARGV[8] ~= '' then event('t', uid, sender or '', from, to, ARGV[9], ARGV[8]) end

-- What is to be done at a time.
local hold, times = false, {}
if ARGV[10] ~= '' then
  hold = now + tonumber(ARGV[11])
  call('HSET', q, 'hold', hold, 'holder', uid)
  times = { hold, 'q:' .. queue, now + tonumber(ARGV[12]), 'c:' .. uid }
end
if ARGV[15] ~= '-1' then
  times[#times + 1], times[#times + 2] = now + tonumber(ARGV[15]), 'x:' .. uid
elseif leaves and not BOUND[from] then
  call('ZREM', P .. 'due', 'x:' .. uid)
end
if #times > 0 then call('ZADD', P .. 'due', unpack(times)) end

-- A queue that holds for the callback of what ran is not ready.
local held = hold and hold > now and BOUND[from]
if leaves and not BOUND[to] and not held and place(queue) then possible = true end
if possible then wake() end
return { 'ok', rev + 1, possible and 1 or 0, now }
