-- tick does what is due by the clock, and says what the caller is to do. Its
-- cost follows what is due, however much there is.
--
-- ARGV[1]  incarnation, ARGV[2] the most to handle
-- ARGV[3]  milliseconds until another process may tell a callback named here
-- ARGV[4]  milliseconds that the key of a removed transaction is known
-- ARGV[5]  milliseconds that events are kept
-- ARGV[6]  milliseconds until a transaction named here is named again unless it
--          changes, -1 for never, 0 for at once
-- Answer:  {now, "1" if a bind may have become possible, milliseconds until the
--          next thing is due or -1, {own uids due}, {uids with a callback to tell}}
-- Cost:    eight commands, and a few for each thing that is due
local me, most, grace = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[6])
local own = call('ZRANGEBYSCORE', P .. 'own:' .. me, '-inf', now, 'LIMIT', 0, most)
for _, uid in ipairs(own) do
  if owner(txn(uid)) ~= me then
    drop('own:' .. me, uid) -- a person has taken it away
  elseif grace ~= 0 then
    put('own:' .. me, grace > 0 and now + grace or '+inf', uid)
  end
end
local callbacks = {}
for _, member in ipairs(call('ZRANGEBYSCORE', P .. 'due', '-inf', now, 'LIMIT', 0, most)) do
  local kind, name = string.sub(member, 1, 1), string.sub(member, 3)
  drop('due', member)
  if kind == 'c' and txn(name).callback ~= '' then
    callbacks[#callbacks + 1] = name
    put('due', now + ARGV[3], member)
  elseif kind == 'q' then
    place(que(name))
  elseif kind == 's' and lift(name, function(_, ends) return ends > 0 and ends <= now end) then
    event('s', name, name, '', '', '', 'RESTED_OVER')
    offer(name)
  elseif kind == 'x' then
    remove(name, ARGV[4])
  end
end
flush()

-- Old events go in slices; the last one always stays, for the numbers go on.
local function at(e) return tonumber(string.match(e[2][2], '^%d+')) end
local oldest, keep = now - ARGV[5], nil
local first = call('XRANGE', P .. 'events', '-', '+', 'COUNT', 1)[1]
if first and at(first) < oldest then
  for _, e in ipairs(call('XRANGE', P .. 'events', '-', '+', 'COUNT', most)) do
    keep = e[1]
    if at(e) >= oldest then break end
  end
  call('XTRIM', P .. 'events', 'MINID', keep)
end

local soonest = -1
for _, set in ipairs({ P .. 'own:' .. me, P .. 'due' }) do
  local s = call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
  s = s and s ~= 'inf' and tonumber(s)
  if s and s < math.huge and (soonest < 0 or s - now < soonest) then soonest = math.max(0, s - now) end
end
return { now, woken and 1 or 0, soonest, own, callbacks }
