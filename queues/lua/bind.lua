-- bind gives free senders to ready queues: of the queues whose head has a type of
-- the caller, the one that has waited longest for its turn; of the senders of the
-- caller's groups, the one that has rested longest; again and again, until one of
-- the two runs out.
--
-- ARGV[1]  incarnation of the calling process
-- ARGV[2]  the most pairs to bind
-- ARGV[3]  milliseconds until a claim that is not taken up is due
-- ARGV[4]  what the first attempt of what was never tried costs, ARGV[5] and [6] its
--          record before and behind the sender and the nonce; not of what was posted
--          with terms
-- ARGV[7]  number of types, ARGV[8] of groups, then the types, then the groups
-- then pairs: a sender, and its next nonce, with which such an attempt is planned
--          at once if nothing else is stored by now
-- Answer:  {"1" if more is left to another run, for the payloads are large, {queue's
--          transaction as in get, sender, url, next nonce or "", width or ""} …}
-- Cost:    about seventeen commands, and seven for each pair
local incarnation, most, grace, fee = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local ntypes = tonumber(ARGV[7])
local groups = 8 + ntypes + tonumber(ARGV[8])
local answer, bytes = { 0 }, 0
if not lives(incarnation) or not settled() then return answer end
local claims = tonumber(call('GET', P .. 'n:claim') or '0')

-- The first of each set, read a few at a time, of queues no more than there are senders
-- for; at: the one that is next.
local PAGE = math.min(most, 16)
local fronts, free = {}, 0
local function read(index, page)
  local front = call('ZRANGE', P .. index, 0, page - 1, 'WITHSCORES')
  front.at, front.over = 1, 2 * page
  fronts[index] = front
  return front
end

-- peek reads the records of queues that are next, at once.
local function peek(front)
  local names, keys = {}, {}
  for i = 1, #front, 2 do
    if not queues[front[i]] then names[#names + 1], keys[#keys + 1] = front[i], P .. 'q:' .. front[i] end
  end
  for i, text in ipairs(#keys > 0 and call('MGET', unpack(keys)) or {}) do found[names[i]] = text end
end

-- least returns the member with the lowest score in the sets called prefix and one
-- of the names ARGV[from] to ARGV[to], and that name; nil if all are empty.
local function least(prefix, from, to)
  local member, lowest, name
  for i = from, to do
    local index = prefix .. ARGV[i]
    local front = fronts[index]
    if not front or front.at > front.over then
      if front then flush() end -- what is taken leaves the index before more is read
      if prefix == 'free:' then
        front = read(index, PAGE)
        free = free + #front / 2
      else
        front = read(index, math.min(PAGE, free))
        peek(front)
      end
    end
    local score = tonumber(front[front.at + 1])
    if score and (not lowest or score < lowest) then member, lowest, name = front[front.at], score, ARGV[i] end
  end
  return member, name
end

-- take has the next of an index leave it.
local function take(index)
  drop(index, fronts[index][fronts[index].at])
  fronts[index].at = fronts[index].at + 2
end

local known = {} -- the next nonces of senders as the caller knows them
for i = groups + 1, #ARGV, 2 do known[ARGV[i]] = ARGV[i + 1] end

local POSTED = '^(%d+) %d+ (%S+) %S+ ?(%d*) ?(%d*) ?(%d*) ?[^ \n]* ?[^ \n]* ?([^ \n]*)'

-- pair binds a queue's first transaction; it answers false if the set was behind the
-- queue.
local function pair(q, typ, sender, group)
  local uid = q.first
  local v = uid ~= '' and call('MGET', P .. 't:' .. uid, P .. 'x:' .. uid) or {}
  if not v[1] then return false end
  local seq, kind, begins, expires, dearest, by = string.match(v[1], POSTED)
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
  claims = claims + 1
  strings['n:claim'] = claims
  take('free:' .. group)
  take('ready:' .. typ)
  q.waiting, q.run, q.sender = q.waiting - 1, uid, sender
  q.ready, q.first, q.since, q.hold, q.holder = '', '', '', '', ''
  note(q)
  waits(typ, -1)
  local s = about(sender)
  set(sender, 'queue', q.name)
  carry(t, sender)
  if t.fresh then
    put('past:' .. q.name, seq, uid)
    if s.next ~= '' and begins .. expires .. dearest .. by == '' and known[sender] == s.next then
      charge(t, sender, q.name, fee, 0, 0, {})
      t.record = ARGV[5] .. '"' .. sender .. '","nonce":' .. s.next .. ARGV[6]
    end
  end
  t.revision, t.phase, t.since, t.due = t.revision + 1, 'dispatching', stamp, ''
  t.claim = incarnation .. ':' .. claims
  put('bound', seq, uid)
  put('own:' .. incarnation, now + grace, uid)
  event('t', uid, sender, 'waiting', 'dispatching', '', '')
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
    local sender, group = least('free:', 9 + ntypes, groups)
    if not sender then break end
    local queue, typ = least('ready:', 9, 8 + ntypes)
    if not queue then break end
    local q = sound(queue)
    if not q or q.ready ~= typ or not pair(q, typ, sender, group) then
      drop('ready:' .. typ, queue)
      if q then place(q) end -- look again
      flush()
      fronts = {}
    end
  end
end

-- What is bound is stored even if something is wrong with the one after it.
local ok, err = pcall(pairUp)
woken = false -- what is bound is ready no more
flush()
if not ok then error(err) end
return answer
