-- tick does what is due by the clock, and says what the caller is to do. Its
-- cost follows what is due, however much there is.
--
-- ARGV[1]  incarnation, ARGV[2] the most to handle
-- ARGV[3]  milliseconds until another process may tell a callback, or end what has
--          expired, that is named here
-- ARGV[4]  milliseconds that the key of a removed transaction is known
-- ARGV[5]  milliseconds that events are kept, and longer while a webhook endpoint has not
--          taken them over
-- ARGV[6]  milliseconds until a transaction named here is named again unless it
--          changes, -1 for never, 0 for at once
-- Answer:  {now, "1" if a bind may have become possible, milliseconds until the
--          next thing is due or -1, {own uids due}, {uids with a callback to tell},
--          {uids that wait and whose deadline has come}}
-- Cost:    seven commands, a few for each thing that is due, and some fifteen where
--          events are dropped
local me, most, grace = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[6])
local own = call('ZRANGEBYSCORE', P .. 'own:' .. me, '-inf', now, 'LIMIT', 0, most)
for _, uid in ipairs(own) do
  local t = whole(uid)
  if not t then
    put('own:' .. me, '+inf', uid) -- the caller sees that it cannot be read
  elseif owner(t) ~= me then
    drop('own:' .. me, uid) -- a person has taken it away
  elseif grace ~= 0 then
    put('own:' .. me, grace > 0 and now + grace or '+inf', uid)
  end
end
local callbacks, expired = {}, {}
for _, member in ipairs(call('ZRANGEBYSCORE', P .. 'due', '-inf', now, 'LIMIT', 0, most)) do
  local kind, name = string.sub(member, 1, 1), string.sub(member, 3)
  drop('due', member)
  local t = kind == 'c' and whole(name)
  if t and t.callback ~= '' then
    callbacks[#callbacks + 1] = name
    put('due', now + ARGV[3], member)
  elseif kind == 'd' then
    local known = header(name) and whole(name)
    if known and known.phase == 'waiting' then
      expired[#expired + 1] = name
      put('due', now + ARGV[3], member)
    end
  elseif kind == 'q' then
    local q = sound(name)
    if q then place(q) end
  elseif kind == 'p' then
    local q = sound(name, member)
    if not q then
      -- It is due again.
    elseif q.till ~= '' and not later(q.till) then
      halt(q, '', '')
      q.streak = ''
      event('q', name, '', '', '', '', 'RESUMED', q)
      heed(q)
      finish(q)
    elseif q.till ~= '' then
      halt(q, q.paused, q.till)
    end
  elseif kind == 's' and lift(name, function(_, ends) return ends > 0 and ends <= now end) then
    event('s', name, name, '', '', '', 'RESTED_OVER')
    offer(name)
  elseif kind == 'x' and whole(name) then
    if doubted() then put('due', now + ARGV[3], member) else remove(name, ARGV[4]) end
  end
end
flush()

-- trim drops the events that are too old, so many in a run that no rate of posting
-- outgrows it; it answers whether more are left. The last one always stays, for the
-- numbers go on: they have no gap, so the first that stays is found by halving.
local SLICE = 10000
local function trim(log, oldest)
  local function old(id)
    local line = call('XRANGE', log, '0-' .. id, '0-' .. id)[1][2][2]
    return tonumber(string.match(line, '^%d+')) < oldest
  end
  local first = call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
  first = first and tonumber(string.sub(first[1], 3))
  if not first or not old(first) then return false end
  local low, high = first + 1, math.min(first + call('XLEN', log) - 1, first + SLICE)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if old(middle) then low = middle + 1 else high = middle end
  end
  if low > high then return false end -- it is the last
  -- What an endpoint has not taken over stays until it has.
  local behind = call('ZRANGE', P .. 'hooks', 0, 0, 'WITHSCORES')[2]
  local kept = math.min(low, (tonumber(behind) or low) + 1)
  if kept > first then call('XTRIM', log, 'MINID', '0-' .. string.format('%.0f', kept)) end
  return kept == first + SLICE
end
local more = trim(P .. 'events', now - ARGV[5])

local soonest = more and 0 or -1
for _, set in ipairs({ P .. 'own:' .. me, P .. 'due' }) do
  local s = call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
  s = s and s ~= 'inf' and tonumber(s)
  if s and s < math.huge and (soonest < 0 or s - now < soonest) then soonest = math.max(0, s - now) end
end
return { now, woken and 1 or 0, soonest, own, callbacks, expired }
