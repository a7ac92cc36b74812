-- advance is the one guarded change of a transaction: it compares revision and
-- claim, stores the record as it is now, and moves what stands beside it: the queue,
-- the indexes and the event log by the phases before and after, all else as it is told.
-- Changes that come together share a run, each for itself; see several.lua.
--
-- ARGV of each:
--   1 uid  2 queue  3 type  4 sequence
--   5 the revision that the change was decided on
--   6 the claim; "*" for a change by a person, which no claim guards
--   7 operation id: the same one again gets the first answer
--   8 phase to take  9 milliseconds from now until it is due, -1 for never
--  10 code and 11 attempt number, for the event
--  12 how many attempts are open  13 what all of them cost, in nanomina  14 the record
--  then names, each with the words that follow it:
--   Guards, which refuse the change:
--   confirm            unless settled, see lib.lua
--   trusts             if doubted, see lib.lua
--   in-order           if an earlier one of its queue has come back to wait
--   last               while others of its queue run behind it
--   follows n          if the next nonce of the sender is above it
--   limits n n         the most that the fees of the day may come to, for its sender and
--                      for all, 0 for no limit
--   budget name n      a budget that the fees are counted with, and the most that those of
--                      the day may come to, 0 for no limit; any number of times
--   The record:
--   keep               keep the claim where the phase would give it up
--   claim process      an incarnation that goes on with it if nobody has the claim and it is kept
--   bytes b            signed bytes; "" drops them
--   stands account n   with which nonce it stands on the chain
--   falls account      of which it stands no longer
--   remove ms          when the record is removed
--   expires ms         when what waits again expires
--   by name            who says so, of a person's word
--   The sender:
--   rest ms why by in  rest the sender, -1 until resumed; why; who gives the reason, ""
--                      for nobody; in words
--   above n            and not where the next nonce of the sender was above it
--   absolve account    that one was doubted in vain: its rest and what is counted in a row of it and
--                      of the sender are over
--   next n             the next nonce of the sender, "" to have it asked for
--   least account n    the least that the next nonce of an account is; any number of times
--   The queue:
--   tell c ms ms       a callback; how long the queue waits for the answer; until
--                      another process may tell it
--   told               nothing is to be told any more
--   hold ms            leave the queue alone
--   broke n, single n, clean n
--                      the width of its queue, which is n where nobody has set it, is halved
--                      for now; is one for now; is one more again
--   unresolved n       how many UNRESOLVED in a row pause the queue
-- Answer, for each: {"ok", "1" if a bind may have become possible, now, the words that are
--   stored, facts}, {"stale"}, {"fenced"}, {"unsettled"}, {"overtaken"}, {"followed"}, {"used"},
--   {"gone"}, {"error", text}: what went wrong with it, or {"costly", "sender", "all" or a budget: whose limit, the fees of the day
--   so far, milliseconds until the day is over}
-- Cost: about five commands, three more for a landing, and from one (a bound phase to a
--   bound phase) to four (a landing) for each, one more where another one of its queue runs

-- How many words follow a name.
local WORDS = {
  confirm = 0, trusts = 0, ['in-order'] = 0, last = 0, follows = 1, limits = 2, budget = 2, -- guards
  keep = 0, claim = 1, bytes = 1, stands = 2, falls = 1, remove = 1, expires = 1, by = 1, -- the record
  rest = 4, above = 1, absolve = 1, next = 1, least = 2, -- the sender
  tell = 3, told = 0, hold = 1, broke = 1, single = 1, clean = 1, unresolved = 1, -- the queue
}

-- refused says why a change is not made, nil if it is.
local function refused(t, said, revision, token, queue)
  -- The claim comes first: a take-over also counts the revision up, and who has lost a
  -- claim is to stop, not to read again.
  if token ~= '*' and t.claim ~= token then return { 'fenced' } end
  if t.revision ~= tonumber(revision) then return { 'stale' } end
  if said.confirm and not settled() or said.trusts and doubted() then return { 'unsettled' } end
  if said['in-order'] and t.overtaken ~= '' then return { 'overtaken' } end
  if said.last then
    local run = que(queue).run
    if has(run, t.uid) and last(run) ~= t.uid then return { 'followed' } end
  end
  if said.follows and (tonumber(about(t.sender).next) or 0) > tonumber(ARGV[said.follows + 1]) then return { 'used' } end
end

-- costly says whose limit a change would pass, nil if it is none's: then it is counted.
local function costly(t, said, cost, queue)
  if cost == (string.match(t.fees, '^%d+') or '0') then return nil end
  local i = said.limits
  local most, all = tonumber(i and ARGV[i + 1] or 0), tonumber(i and ARGV[i + 2] or 0)
  local budgets = {}
  for _, at in ipairs(said.budget) do
    budgets[#budgets + 1], budgets[#budgets + 2] = ARGV[at + 1], tonumber(ARGV[at + 2])
  end
  local whose, spent = charge(t, t.sender, queue, tonumber(cost), most, all, budgets)
  return whose and { 'costly', whose, string.format('%.0f', spent), DAY - now % DAY }
end

-- pay moves what a change says of nonces and rests. Nobody removes a sender that is
-- bound.
local function pay(t, said, bound)
  local s = P .. 's:' .. t.sender
  local ours = said.above and (tonumber(about(t.sender).next) or 0) > tonumber(ARGV[said.above + 1])
  if said.next and (bound or call('EXISTS', s) == 1) then set(t.sender, 'next', ARGV[said.next + 1]) end
  for _, i in ipairs(said.least) do
    local account = ARGV[i + 1]
    if account == t.sender and bound or call('EXISTS', P .. 's:' .. account) == 1 then raise(account, ARGV[i + 2]) end
  end
  if said.rest and not ours and t.sender ~= '' then
    local ms, why, by, words = unpack(ARGV, said.rest + 1, said.rest + 4)
    rest(t.sender, tonumber(ms), why, why == 'OUTCOME_UNKNOWN' and t.uid or by ~= '' and by, words)
    if by == 'doubt' then set(t.sender, 'streak', (tonumber(about(t.sender).streak) or 0) + 1) end
  end
end

-- narrows has fewer of a queue in flight after one has broken, and more again after each
-- that landed.
local function narrows(q, said)
  local configured = said.broke or said.single or said.clean
  if not configured then return end
  local width = tonumber(q.width) or tonumber(ARGV[configured + 1])
  local n = math.min(tonumber(q.narrow) or width, width)
  n = said.single and 1 or said.broke and math.max(1, math.floor(n / 2)) or n + 1
  q.narrow = n < width and n or ''
end

-- plans plans what is to be done at a time.
local function plans(t, q, said)
  local tell, remove = said.tell, said.remove
  if tell then
    t.callback, t.tries = ARGV[tell + 1], '0'
    hold(q, now + ARGV[tell + 2])
    q.holder = with(without(q.holder, t.uid), t.uid)
    put('due', now + ARGV[tell + 3], 'c:' .. t.uid)
  elseif said.told then
    t.callback, t.tries = '', ''
    drop('due', 'c:' .. t.uid)
  end
  if said.hold then
    local till = now + ARGV[said.hold + 1]
    hold(q, till)
    local others = string.gsub(q.holder, '^!%d+,?', '')
    q.holder = string.format('!%.0f', till) .. (others ~= '' and ',' .. others or '')
  end
  if said.expires then put('due', ARGV[said.expires + 1], 'd:' .. t.uid) end
  if remove then put('due', now + ARGV[remove + 1], 'x:' .. t.uid) end
end

local function advance(o, n)
  local uid, queue, typ, seq, revision, token, op, to, due, code, number, open, cost, record =
    unpack(ARGV, o + 1, o + 14)
  local said, i = { least = {}, budget = {} }, o + 15
  while i <= o + n do
    local many = type(said[ARGV[i]]) == 'table' and said[ARGV[i]]
    if many then many[#many + 1] = i else said[ARGV[i]] = i end
    i = i + 1 + WORDS[ARGV[i]]
  end
  actor = said.by and ARGV[said.by + 1] or ''
  local t = txn(uid)
  if t.fresh and call('EXISTS', P .. 't:' .. uid) == 0 then return { 'gone' } end
  if t.operation == op then return { 'ok', 1, now, (select(2, write(t))), facts(t) } end
  local why = refused(t, said, revision, token, queue)
  if why then return why end
  local from = t.phase
  local moved = from ~= to
  -- Between bound phases nothing moves but the transaction, and what its queue shows.
  local leaves = moved and not (BOUND[from] and BOUND[to])
  -- What cannot be read is found before anything is counted.
  local q = (leaves or said.tell or said.hold or said.broke) and que(queue)
  local line = q or glimpse(queue)
  why = costly(t, said, cost, queue)
  if why then return why end

  t.revision, t.operation, t.phase, t.open = t.revision + 1, op, to, open
  due = tonumber(due)
  t.due = due >= 0 and now + due or ''
  if moved then t.since = stamp end
  if t.fresh then put('past:' .. queue, seq, uid) end
  t.fresh = false
  local process = owner(t)
  local keeps = BOUND[to] or said.keep
  if process then
    if token == '*' then
      look(t)
    elseif keeps then
      put('own:' .. process, due >= 0 and t.due or '+inf', uid)
    else
      drop('own:' .. process, uid)
    end
    if not keeps then t.claim = '' end
  elseif said.claim and keeps then
    claim(t, ARGV[said.claim + 1])
  end
  t.record = record
  if said.bytes then strings['b:' .. uid] = ARGV[said.bytes + 1] ~= '' and ARGV[said.bytes + 1] end
  if said.falls then call('ZREM', P .. 'landed:' .. ARGV[said.falls + 1], uid) end
  if said.stands then call('ZADD', P .. 'landed:' .. ARGV[said.stands + 1], ARGV[said.stands + 2], uid) end

  local before = woken
  woken = false
  pay(t, said, BOUND[from]) -- first, so that a sender at rest is not offered
  if from == 'unresolved' and t.sender ~= '' and (moved or tonumber(open) == 0) then
    known(t.sender, 'why:OUTCOME_UNKNOWN:' .. uid) -- what became of it
  end
  if leaves then passes(t, q, typ, seq, from, to, said.unresolved and ARGV[said.unresolved + 1]) end
  if said.absolve then
    local other = ARGV[said.absolve + 1]
    set(t.sender, 'streak', '')
    if about(other).group then set(other, 'streak', '') end
    known(other, 'why:RESTED:doubt')
  end
  if moved or code ~= '' then event('t', uid, t.sender, from, to, number, code, line) end
  plans(t, q, said)
  if q then narrows(q, said) end
  if q then place(q) end
  local possible = woken
  woken = possible or before
  return { 'ok', possible and 1 or 0, now, (select(2, write(t))), facts(t) }
end

local answers = each(advance, function() return true end)
flush()
return answers
