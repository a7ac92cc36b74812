-- bind gives free senders to ready queues. The turn goes round those who post, in the order
-- of their seats, and is of one whose queue's next transaction has a type of the caller; of
-- those queues it takes the one that has waited longest; of the senders of the caller's
-- groups, the one that has rested longest; again and again, until one of the two runs out.
--
-- ARGV[1]  incarnation of the calling process
-- ARGV[2]  the most pairs to bind
-- ARGV[3]  milliseconds until a claim that is not taken up is due
-- ARGV[4]  what the first attempt of what was never tried costs, ARGV[5] and [6] its
--          record before and behind the sender and the nonce; not of what was posted
--          with terms
-- ARGV[7]  " <sender> <its next nonce> <sender> … ", with which such an attempt is planned
--          at once if nothing else is stored by now: one word, for each costs Redis time
-- ARGV[8]  number of types, ARGV[9] of groups, then the types, then the groups
-- Answer:  {"1" if more is left to another run, for the payloads are large, {queue's
--          transaction as in get, sender, url, next nonce or "", width or ""} …}
-- Cost:    about seventeen commands, and seven for each pair; where some of those who post have a
--          name one more, one for each type whose round is long, and one for each pair where
--          each has many queues ready: no more beside a thousand of them than beside ten
local incarnation, most, grace, fee = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local ntypes = tonumber(ARGV[8])
local groups = 9 + ntypes + tonumber(ARGV[9])
local answer, bytes = { 0 }, 0

-- Where the turn stands is kept by what is bound: with one for all, a process that binds
-- other types, or for a ledger, could bring it back to the same one each time.
local kinds, nameless, named = {}, {}, {}
for i = 1, ntypes do
  kinds[i] = ARGV[9 + i]
  nameless[i], named[i] = P .. 'ready:' .. kinds[i], P .. 'round:' .. kinds[i]
end
local turn = 'n:round:' .. redis.sha1hex(table.concat(kinds, ' '))
local v = call('MGET', P .. 'is:server', P .. 'n:claim', P .. turn)
if not lives(incarnation) or not settled(v[1]) then return answer end
local at = tonumber(v[3] or '-1')
claims = tonumber(v[2] or '0')

-- What is not there is not read: any answers, once, whether one of some sets has a member.
local there = {}
local function any(sets)
  if there[sets] == nil then there[sets] = #sets > 0 and call('EXISTS', unpack(sets)) > 0 end
  return there[sets]
end

-- The first of each free set, read a few at a time; next: the one that is.
local PAGE = math.min(most, 16)
local fronts, free = {}, 0

-- rested returns the sender that has rested longest, and its group; nil if there is none.
local function rested()
  local sender, least, group
  for i = 10 + ntypes, groups do
    local front = fronts[ARGV[i]]
    if not front or front.next > #front then
      if front then flush() end -- what is taken leaves the index before more is read
      front = call('ZRANGE', P .. 'free:' .. ARGV[i], '0', PAGE - 1, 'WITHSCORES')
      front.next, fronts[ARGV[i]], free = 1, front, free + #front / 2
    end
    local score = tonumber(front[front.next + 1])
    if score and (not least or score < least) then sender, least, group = front[front.next], score, ARGV[i] end
  end
  return sender, group
end

-- What was read of each round, by the seat that it was asked for, and as last: of the queues
-- behind the seat from, or of the nameless where that is -1, as many as there are senders for, a
-- member each, the seat, 0 of the nameless, and since when it is ready; whole: there are no more.
-- What of them is taken may still stand there.
local rounds = {}
local function read(typ, from)
  local few = math.min(free, 16)
  local run, all, n = { from = from, taken = rounds[typ].taken }, {}, 0
  if from < 0 and (not any(named) or any(nameless)) then
    all = call('ZRANGE', P .. 'ready:' .. typ, '0', few - 1, 'WITHSCORES')
  elseif from >= 0 and any(named) then
    all = call('ZRANGEBYSCORE', P .. 'round:' .. typ, '(' .. string.format('%.0f', from), '+inf', 'WITHSCORES',
      'LIMIT', 0, few)
  end
  for i = 1, #all, 2 do
    local score = tonumber(all[i + 1])
    run[n + 1], run[n + 2] = all[i], from < 0 and 0 or score
    run[n + 3] = from < 0 and score or tonumber(string.match(all[i], '^%d+') or '0')
    n = n + 3
  end
  run.whole = #all < 2 * few
  rounds[typ][from] = run
  if from >= 0 then rounds[typ].last = run end
  return run
end

-- first finds the first of a run behind a seat.
local function first(run, at)
  for i = 1, #run, 3 do
    if run[i + 1] > at and not run.taken[run[i]] then return i end
  end
end

-- behind returns what was read of the round of a type, and where in it the first behind a seat
-- stands, nil if there is none.
local function behind(typ, at)
  rounds[typ] = rounds[typ] or { taken = {} }
  local run = rounds[typ][at] or at >= 0 and rounds[typ].last or read(typ, math.min(at, 0))
  while true do
    local i = run.from <= at and first(run, at)
    if i or run.from <= at and run.whole then
      rounds[typ][at] = run
      return run, i
    end
    if run.from == at then flush() end -- all that it names is taken
    run = read(typ, at)
  end
end

-- upNext returns the queue whose turn it is: its type, what was read of that round, and where
-- in it it stands; nil if none is ready.
local function upNext()
  for _, before in ipairs(at < 0 and { -1, 0 } or { at, -1, 0 }) do
    local typ, run, i
    for _, kind in ipairs(kinds) do
      local other, k = behind(kind, before)
      if k and (not typ or other[k + 1] < run[i + 1] or other[k + 1] == run[i + 1] and other[k + 2] < run[i + 2]) then
        typ, run, i = kind, other, k
      end
    end
    if typ then return typ, run, i end
  end
end

-- standsFor is the queue that a member stands for.
local function standsFor(member) return string.match(member, ' (.*)') or member end

-- peek reads the record of a queue, and at once those that come next as far as there are
-- senders for them.
local function peek(run, from)
  if found[standsFor(run[from])] ~= nil then return end
  local names, keys = {}, {}
  for i = from, #run, 3 do
    local name = standsFor(run[i])
    if not queues[name] and #keys < free then names[#names + 1], keys[#keys + 1] = name, P .. 'q:' .. name end
  end
  for i, text in ipairs(#keys > 0 and call('MGET', unpack(keys)) or {}) do found[names[i]] = text end
end

-- known answers whether the caller knows this next nonce of a sender.
local function known(sender, nonce) return string.find(ARGV[7], ' ' .. sender .. ' ' .. nonce .. ' ', 1, true) end

local POSTED = '^(%d+) %d+ (%S+) %S+ ?(%d*) ?(%d*) ?(%d*)'

-- pair binds a queue's first transaction; it answers false if the set was behind the
-- queue.
local function pair(q, typ, sender, group)
  local uid = q.first
  local v = uid ~= '' and call('MGET', P .. 't:' .. uid, P .. 'x:' .. uid) or {}
  if not v[1] then return false end
  local seq, kind, begins, expires, dearest = string.match(v[1], POSTED)
  local ok, t = pcall(parse, uid, v[2])
  if not ok then return damaged(q, uid) end
  if kind ~= typ or t.phase ~= 'waiting' then return false end
  if tonumber(seq) > q.popped then
    local popped = call('LPOP', P .. 'line:' .. q.name)
    if popped ~= uid then
      if popped then call('LPUSH', P .. 'line:' .. q.name, popped) end
      return false
    end
    q.popped = tonumber(seq)
  else
    left(q, uid, seq)
  end
  drop('free:' .. group, sender)
  fronts[group].next = fronts[group].next + 2
  unready(q)
  q.waiting, q.run, q.sender, q.hold, q.holder = q.waiting - 1, uid, sender, '', ''
  note(q)
  waits(typ, -1)
  local s = about(sender)
  set(sender, 'queue', q.name)
  carry(t, sender)
  if t.fresh then
    put('past:' .. q.name, seq, uid)
    if s.next ~= '' and begins .. expires .. dearest == '' and known(sender, s.next) then
      charge(t, sender, q.name, fee, 0, 0, {})
      t.record = ARGV[5] .. '"' .. sender .. '","nonce":' .. s.next .. ARGV[6]
    end
  end
  t.revision, t.phase, t.since, t.due = t.revision + 1, 'dispatching', stamp, ''
  t.claim = token(incarnation)
  put('bound', seq, uid)
  put('own:' .. incarnation, now + grace, uid)
  event('t', uid, sender, 'waiting', 'dispatching', '', '', q)
  bytes = bytes + #v[1]
  answer[#answer + 1] = { { uid, v[1], write(t), facts(t) }, sender, s.url, s.next, q.width }
  return true
end

local function pairUp()
  for _ = 1, 2 * most + PAGE do -- more than enough
    if #answer > most then break end
    if bytes >= FULL then
      answer[1] = 1
      break
    end
    local sender, group = rested()
    if not sender then break end
    local typ, run, i = upNext()
    if not typ then break end
    peek(run, i)
    local member, queue, turnOf = run[i], standsFor(run[i]), run[i + 1]
    local q = sound(queue)
    local home, index, as = (turnOf == 0 and 'ready:' or 'round:') .. typ, nil, nil
    if q then index, as = stands(q) end
    if index == home and as == member and pair(q, typ, sender, group) then
      at, run.taken[member] = turnOf, true
      strings[turn] = digits(at)
    else -- the round was behind the queue
      drop(home, member)
      if q then place(q) end -- look again
      flush()
      rounds, there = {}, {}
    end
  end
end

-- What is bound is stored even if something is wrong with the one after it.
local ok, err = pcall(pairUp)
woken = false -- what is bound is ready no more
flush()
if not ok then error(err) end
return answer
