-- bind gives free senders to ready queues: of the queues whose head has a type
-- of the caller, the one whose head is oldest; of the senders of the caller's
-- groups, the one that has rested longest; again and again, until one of the
-- two runs out.
--
-- ARGV[1]  incarnation of the calling process
-- ARGV[2]  the most pairs to bind
-- ARGV[3]  milliseconds until a claim that is not taken up is due
-- ARGV[4]  fee, in nanomina, last slot and slot of the first attempt of what was
--          never tried, [5] and [6]; see fees.lua
-- ARGV[7]  number of types, ARGV[8] of groups, then the types, then the groups
-- then pairs: a sender, and its next nonce, with which such an attempt is planned
--          at once if nothing else is stored by now
--
-- Answer: {now, {queue's transaction as in get, sender, url, next nonce or ""} …}
local incarnation, most, grace, ntypes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[7])
local answer, types, groups = { now }, {}, 8 + ntypes + tonumber(ARGV[8])
local nonces = {}
for i = groups + 1, #ARGV, 2 do nonces[ARGV[i]] = ARGV[i + 1] end
if not lives(incarnation) or not settled() then return answer end
local claims = tonumber(call('GET', P .. 'n:claim') or '0')
local claimed = claims

-- The first of each set, read a few at a time; at: the one that is next. What is
-- taken leaves its set when more is read, or at the end.
local PAGE = math.min(most, 16)
local fronts, taken = {}, {}

local function leave()
  for set, members in pairs(taken) do call('ZREM', P .. set, unpack(members)) end
  taken = {}
end

-- least returns the member with the lowest score in the sets called prefix and one
-- of the names ARGV[from] to ARGV[to], its score, and the name; nil if all are empty.
local function least(prefix, from, to)
  local member, lowest, name
  for i = from, to do
    local set = prefix .. ARGV[i]
    local front = fronts[set]
    if not front or front.at > 2 * PAGE then
      leave()
      front = call('ZRANGE', P .. set, 0, PAGE - 1, 'WITHSCORES')
      front.at = 1
      fronts[set] = front
    end
    local score = tonumber(front[front.at + 1])
    if score and (not lowest or score < lowest) then member, lowest, name = front[front.at], score, ARGV[i] end
  end
  return member, lowest, name
end

-- take has the next of a set leave it.
local function take(set)
  local front, gone = fronts[set], taken[set] or {}
  gone[#gone + 1], taken[set] = front[front.at], gone
  front.at = front.at + 2
end

local bound, own = {}, {} -- scores and members
local function pairUp()
  for _ = 1, most do
    local sender, _, group = least('free:', 9 + ntypes, groups)
    if not sender then break end
    local queue, oldest, typ = least('ready:', 9, 8 + ntypes)
    if not queue then break end
    local q = P .. 'q:' .. queue
    local about = call('HMGET', q, 'first', 'w')
    local uid, left = about[1], tonumber(about[2] or '0') - 1
    local record = uid and call('GET', P .. 't:' .. uid)
    local seq, kind
    if record then seq, kind = string.match(record, '^(%d+) %d+ (%S+) ') end
    -- What came back has been changed before; what has not stands in the line.
    local state = uid and call('HGETALL', P .. 'x:' .. uid) or {}
    local fits = kind == typ and tonumber(seq) == oldest
    local came = fits and #state > 0 and call('ZREM', P .. 'back:' .. queue, uid) == 1
    if fits and not came then
      local popped = call('LPOP', P .. 'line:' .. queue)
      fits = popped == uid
      if popped and not fits then call('LPUSH', P .. 'line:' .. queue, popped) end
    end
    if not fits then
      leave()
      place(queue) -- the set was behind the queue; look again
      fronts = {}
    else
      claims = claims + 1
      take('free:' .. group)
      take('ready:' .. typ)
      local x, s = P .. 'x:' .. uid, P .. 's:' .. sender
      local rev = 1
      for i = 1, #state, 2 do
        if state[i] == 'rev' then rev = tonumber(state[i + 1]) + 1 end
      end
      call('HDEL', q, 'ready', 'first', 'hold', 'holder')
      if came then
        call('HSET', q, 'run', uid, 'sender', sender, 'w', left)
      else
        call('HSET', q, 'run', uid, 'sender', sender, 'w', left, 'popped', seq)
      end
      types[typ] = (types[typ] or 0) - 1
      if #state == 0 then call('ZADD', P .. 'past:' .. queue, seq, uid) end
      bound[#bound + 1], bound[#bound + 2] = seq, uid
      call('HSET', s, 'queue', queue)
      local v = call('HMGET', s, 'url', 'next')
      local change = {
        'rev', rev, 'phase', 'dispatching', 'at', stamp, 'sender', sender, 'due', '',
        'claim', incarnation .. ':' .. claims,
      }
      if #state == 0 and v[2] and nonces[sender] == v[2] then
        local plan = {
          '1.by', sender, '1.plan', table.concat({ v[2], ARGV[4], ARGV[5], ARGV[6], stamp }, ' '), '1.fate', 'prepared 0 0 0 0',
          'fees', charge(sender, nil, tonumber(ARGV[4]), 0, 0),
        }
        for _, word in ipairs(plan) do change[#change + 1] = word end
      end
      call('HSET', x, unpack(change))
      for _, word in ipairs(change) do state[#state + 1] = tostring(word) end -- the last one counts
      own[#own + 1], own[#own + 2] = now + grace, uid
      event('t', uid, sender, 'waiting', 'dispatching', '', '')
      answer[#answer + 1] = { { uid, record, state }, sender, v[1] or '', v[2] or '' }
    end
  end
end

-- What is bound is indexed even if something is wrong with the one after it.
local ok, err = pcall(pairUp)
leave()
if claims > claimed then
  call('ZADD', P .. 'bound', unpack(bound))
  call('ZADD', P .. 'own:' .. incarnation, unpack(own))
  call('SET', P .. 'n:claim', claims)
end
for typ, n in pairs(types) do waits(typ, n) end
if not ok then error(err) end
return answer
