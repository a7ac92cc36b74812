-- Shared by the scripts that change senders, put behind lib.lua. Empty fields of a
-- sender are none.

-- offer puts a sender among the free ones if nothing speaks against it.
local function offer(sender)
  local v = call('HMGET', P .. 's:' .. sender, 'group', 'queue', 'reason')
  if not v[1] or (v[2] or '') ~= '' or (v[3] or '') ~= '' then return end
  put('free:' .. v[1], moment(), sender)
  wake()
end

-- What keeps a sender out of use, gravest first: of several reasons, which are
-- kept apart as why:<REASON>, this one is shown.
local RANK = {
  OUTCOME_UNKNOWN = 1, STOPPED_NONCE = 2, WRONG_NETWORK = 3, WRONG_ACCOUNT = 4,
  LOW_BALANCE = 5, DRAINING = 6, RESTED = 7,
}

-- lift takes back the reasons of a sender for which gone(field, ends) is true,
-- shows the gravest of the others, and has the clock end the next of them. It
-- answers whether any was taken back. ends is 0 for what no clock ends.
local function lift(sender, gone)
  local s = P .. 's:' .. sender
  local fields, lifted = call('HGETALL', s), false
  if #fields == 0 then return false end
  local shown, until_, detail, soonest
  for i = 1, #fields, 2 do
    local reason = string.match(fields[i], '^why:([A-Z_]+)')
    if reason then
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
  call('HSET', s, 'reason', shown or '', 'until', shown and until_ > 0 and until_ or '',
    'detail', shown and detail or '')
  if soonest then put('due', soonest, 's:' .. sender) else drop('due', 's:' .. sender) end
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
  local known = tonumber(call('HGET', P .. 's:' .. account, 'next') or '')
  if not known or known < tonumber(least) then call('HSET', P .. 's:' .. account, 'next', least) end
end

-- charge counts what the attempts of a transaction cost with the fees of the day,
-- by sender, by queue and, as '*', of all; what was counted today and is not spent after all is taken back. Where a
-- limit would be passed nothing is counted, and it answers which, and what the day
-- has cost so far. budgets are those that it is counted with besides: names, and the
-- most that each may come to, 0 for no limit.
local function charge(t, sender, queue, cost, most, all, budgets)
  local today = math.floor(now / DAY)
  local was, day, counted = string.match(t.fees, '^(%d+):(%d+):(%d+)$')
  counted = day and tonumber(day) == today and tonumber(counted) or 0
  local more = math.max(cost - tonumber(was or '0'), -counted)
  local key = P .. 'fees:' .. today
  if more > 0 and most > 0 then
    local spent = tonumber(call('HGET', key, sender) or '0')
    if spent + more > most then return 'sender', spent end
  end
  if more > 0 and all > 0 then
    local spent = tonumber(call('HGET', key, '*') or '0')
    if spent + more > all then return 'all', spent end
  end
  local ours = P .. 'budgets:' .. today
  for i = 1, #budgets, 2 do
    if more > 0 and budgets[i + 1] > 0 then
      local spent = tonumber(call('HGET', ours, budgets[i]) or '0')
      if spent + more > budgets[i + 1] then return budgets[i], spent end
    end
  end
  for i = 1, #budgets, 2 do
    if more ~= 0 and call('HINCRBY', ours, budgets[i], string.format('%.0f', more)) == more then
      call('PEXPIRE', ours, 2 * DAY)
    end
  end
  if more ~= 0 then
    local counts = string.format('%.0f', more)
    call('HINCRBY', key, '*', counts)
    if call('HINCRBY', key, sender, counts) == more then call('PEXPIRE', key, 8 * DAY) end -- the first of this sender
    local spent = P .. 'spent:' .. today
    if tonumber(call('ZINCRBY', spent, counts, queue)) == more then call('PEXPIRE', spent, 8 * DAY) end
  end
  t.fees = string.format('%.0f:%d:%.0f', cost, today, counted + more)
end
