-- Shared by the scripts that change senders, or the phase of a transaction, put behind lib.lua. Empty fields of a
-- sender are none.

-- about is what changes of a sender are made by, read once; group is false of one that is
-- not registered.
local accounts = {}
local function about(sender)
  if accounts[sender] then return accounts[sender] end
  local v = call('HMGET', P .. 's:' .. sender, 'group', 'queue', 'reason', 'next', 'streak', 'url')
  local s = {
    group = v[1], queue = v[2] or '', reason = v[3] or '', next = v[4] or '', streak = v[5] or '', url = v[6] or '',
  }
  accounts[sender] = s
  return s
end

-- set has queue, next or streak of a sender stored.
local function set(sender, field, value)
  local s = about(sender)
  if s[field] == value then return end
  s[field], changed[sender] = value, s
end

-- offer puts a sender among the free ones if nothing speaks against it.
local function offer(sender)
  local s = about(sender)
  if not s.group or s.queue ~= '' or s.reason ~= '' then return end
  put('free:' .. s.group, moment(), sender)
  wake()
end

-- What keeps a sender out of use, gravest first: of several reasons, which are
-- kept apart as why:<REASON>, this one is shown.
local RANK = {
  OUTCOME_UNKNOWN = 1, STOPPED_NONCE = 2, WRONG_NETWORK = 3, WRONG_ACCOUNT = 4,
  LOW_BALANCE = 5, DRAINING = 6, RESTED = 7,
}

-- keeps reports whether a reason keeps a sender out of use for more than a rest.
local function keeps(reason) return reason and reason ~= '' and reason ~= 'RESTED' or false end

-- lift takes back the reasons of a sender for which gone(field, ends) is true,
-- shows the gravest of the others, and has the clock end the next of them. It
-- answers whether any was taken back. ends is 0 for what no clock ends. What runs on it is
-- told where that makes a difference.
local function lift(sender, gone)
  local s = P .. 's:' .. sender
  local fields, lifted = call('HGETALL', s), false
  if #fields == 0 then return false end
  local shown, until_, detail, soonest
  local was, queue = '', ''
  for i = 1, #fields, 2 do
    local reason = string.match(fields[i], '^why:([A-Z_]+)')
    if fields[i] == 'reason' then
      was = fields[i + 1]
    elseif fields[i] == 'queue' then
      queue = fields[i + 1]
    elseif reason then
      local ends, words = string.match(fields[i + 1], '^(%d+) ?(.*)')
      ends = tonumber(ends)
      if gone(fields[i], ends) then
        call('HDEL', s, fields[i])
        lifted = true
      else
        if ends > 0 then soonest = math.min(soonest or ends, ends) end
        if not shown or RANK[reason] < RANK[shown] then
          shown, until_, detail = reason, ends, words
        elseif reason == shown then
          if ends == 0 or until_ > 0 and ends > until_ then until_, detail = ends, words end
        end
      end
    end
  end
  local words = { 'reason', shown or '', 'until', shown and until_ > 0 and until_ or '', 'detail', shown and detail or '' }
  if was ~= (shown or '') then words[7], words[8] = 'since', shown and now or '' end
  call('HSET', s, unpack(words))
  if accounts[sender] then accounts[sender].reason = shown or '' end
  if soonest then put('due', soonest, 's:' .. sender) else drop('due', 's:' .. sender) end
  if queue ~= '' and keeps(was) ~= keeps(shown) then pcall(function() heed(que(queue)) end) end
  return lifted
end

-- rest takes a sender out of use, for ms milliseconds or, if that is negative,
-- until somebody resumes it. The same reason may be given by several (by), and
-- in words. A rest that ends by itself does not end what only a person may end.
local function rest(sender, ms, reason, by, words)
  local s, field = P .. 's:' .. sender, 'why:' .. reason .. (by and ':' .. by or '')
  local v = call('HMGET', s, 'group', field)
  if not v[1] then return end
  words = words and words ~= '' and ' ' .. words or ''
  if ms < 0 then
    call('HSET', s, field, '0' .. words)
  elseif not v[2] or string.sub(v[2], 1, 1) ~= '0' then
    call('HSET', s, field, now + ms .. words)
  end
  drop('free:' .. v[1], sender)
  lift(sender, function() return false end)
  if not v[2] then event('s', sender, sender, '', '', '', reason) end
end

-- raise stores the least that the next nonce of an account is.
local function raise(account, least)
  local next = tonumber(about(account).next)
  if not next or next < tonumber(least) then set(account, 'next', least) end
end

-- known ends that a sender is out of use for something that is known by now.
local function known(sender, why)
  if not lift(sender, function(field) return field == why end) then return end
  event('s', sender, sender, '', '', '', 'RESUMED')
  offer(sender)
end

-- carry gives a transaction to a sender. What was counted with that of before stays
-- with it: the fees of no sender fall below nothing.
local function carry(t, sender)
  if t.sender ~= sender then t.fees = string.gsub(t.fees, ':.*', ':0:0') end
  t.sender = sender
end

-- charge counts what the attempts of a transaction cost with the fees of the day,
-- by sender, by queue and, as '*', of all; what was counted today with its sender and is not
-- spent after all is taken back. Where a limit would be passed nothing is counted, and it
-- answers which, and what the day has cost so far. budgets are those that it is counted
-- with besides: names, and the most that each may come to, 0 for no limit.
local function charge(t, sender, queue, cost, most, all, budgets)
  local today = math.floor(now / DAY)
  local was, day, before = string.match(t.fees, '^(%d+):(%d+):(%d+)$')
  before = day and tonumber(day) == today and tonumber(before) or 0
  local more = math.max(cost - tonumber(was or '0'), -before)
  local fees, ours = 'fees:' .. today, 'budgets:' .. today
  -- over answers what the day has cost, if that and more would pass a limit.
  local function over(key, field, limit)
    if more <= 0 or limit <= 0 then return nil end
    local spent = counted(key, field)
    return spent + more > limit and spent
  end
  local spent = over(fees, sender, most)
  if spent then return 'sender', spent end
  spent = over(fees, '*', all)
  if spent then return 'all', spent end
  for i = 1, #budgets, 2 do
    spent = over(ours, budgets[i], budgets[i + 1])
    if spent then return budgets[i], spent end
  end
  for i = 1, #budgets, 2 do count(ours, budgets[i], more) end
  count(fees, '*', more)
  count(fees, sender, more)
  if more ~= 0 then
    local spent, counts = P .. 'spent:' .. today, string.format('%d', more)
    if tonumber(call('ZINCRBY', spent, counts, queue)) == more then call('PEXPIRE', spent, 8 * DAY) end
  end
  t.fees = string.format('%d:%d:%d', cost, today, before + more)
end

-- streak counts what ended UNRESOLVED in a row, by queue and by sender. Too many pause the queue;
-- what they say of a sender is told by another one's opinion, see lifecycle.
local function streak(q, sender, limit)
  local reason = limit .. ' transactions in a row ended UNRESOLVED'
  q.streak = (tonumber(q.streak) or 0) + 1
  if q.streak >= limit and (q.paused == '' or q.till ~= '') then
    local was = q.paused
    halt(q, reason, '', true)
    if was == '' then
      event('q', q.name, sender, '', '', '', 'PAUSED', q)
      heed(q)
    end
  end
  set(sender, 'streak', (tonumber(about(sender).streak) or 0) + 1)
end

-- passes moves the queue and the indexes from a phase to another one.
local function passes(t, q, typ, seq, from, to, limit)
  if INDEX[from] and INDEX[from] ~= INDEX[to] then drop(INDEX[from], t.uid) end
  if INDEX[to] then put(INDEX[to], seq, t.uid) end
  if q[from] then q[from] = q[from] - 1 end -- counted unless bound
  if q[to] then q[to] = q[to] + 1 end
  if from == 'waiting' then
    left(q, t.uid, seq)
    atOnce(q) -- what it was left alone for may be gone with this one
    waits(typ, -1)
  elseif to == 'waiting' then
    came(q, t.uid, seq)
    waits(typ, 1)
    if q.waiting == 1 and q.run == '' then list(q, seq) end -- it may wait for a callback
    t.overtaken = ''
  end
  if from == 'done' then
    -- It was not the end: nobody is told so, or waits until somebody is. What runs now
    -- comes after it.
    t.callback, t.tries = '', ''
    drop('due', 'c:' .. t.uid)
    answered(q, t.uid)
    for uid in string.gmatch(to == 'waiting' and q.run or '', '[^,]+') do
      local run = whole(uid)
      if run and (tonumber((header(uid))) or 0) > tonumber(seq) then
        run.overtaken = 1
        write(run)
      end
    end
  end
  if not BOUND[from] then
    drop('due', 'x:' .. t.uid)
    return
  end
  if to == 'unresolved' and limit then streak(q, t.sender, tonumber(limit)) end
  if to == 'done' then q.streak = '' end
  q.run = without(q.run, t.uid)
  if q.run == '' then q.sender = '' end
  if t.sender == '' then return end
  if to == 'done' then set(t.sender, 'streak', '') end
  if q.run ~= '' then return end
  set(t.sender, 'queue', '')
  offer(t.sender)
end
