-- tick does what is due by the clock, and says what the caller is to do. Its
-- cost follows what is due, however much there is.
--
-- ARGV[1]  incarnation, ARGV[2] the most to handle
-- ARGV[3]  milliseconds until another process may tell a callback named here
-- ARGV[4]  milliseconds that the key of a removed transaction is known
-- ARGV[5]  milliseconds that events are kept
--
-- Answer: {now, "1" if a bind may have become possible, milliseconds until the
--          next thing is due or -1, {own uids due}, {uids with a callback to tell}}
local most = tonumber(ARGV[2])
local own = call('ZRANGEBYSCORE', P .. 'own:' .. ARGV[1], '-inf', now, 'LIMIT', 0, most)
local due = call('ZRANGEBYSCORE', P .. 'due', '-inf', now, 'LIMIT', 0, most)
local callbacks, possible = {}, false
for _, member in ipairs(due) do
  local kind, name = string.sub(member, 1, 1), string.sub(member, 3)
  if kind == 'c' then
    if call('HEXISTS', P .. 'x:' .. name, 'callback') == 1 then
      callbacks[#callbacks + 1] = name
      call('ZADD', P .. 'due', now + tonumber(ARGV[3]), member)
    else
      call('ZREM', P .. 'due', member)
    end
  else
    call('ZREM', P .. 'due', member)
    if kind == 'q' then
      if place(name) then possible = true end
    elseif kind == 's' then
      if lift(name, function(_, ends) return ends > 0 and ends <= now end) then
        event('s', name, name, '', '', '', 'RESTED_OVER')
        if offer(name) then possible = true end
      end
    elseif kind == 'x' then
      if remove(name, ARGV[4]) then possible = true end
    end
  end
end

-- Old events go in slices; the last one always stays, for the numbers go on.
local function at(e) return tonumber(string.match(e[2][2], '^%d+')) end
local oldest, keep = now - tonumber(ARGV[5]), nil
local first = call('XRANGE', P .. 'events', '-', '+', 'COUNT', 1)[1]
if first and at(first) < oldest then
  for _, e in ipairs(call('XRANGE', P .. 'events', '-', '+', 'COUNT', most)) do
    keep = e[1]
    if at(e) >= oldest then break end
  end
  call('XTRIM', P .. 'events', 'MINID', keep)
end

local soonest = -1
for _, set in ipairs({ P .. 'own:' .. ARGV[1], P .. 'due' }) do
  local s = call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
  s = s and s ~= 'inf' and tonumber(s)
  if s and (soonest < 0 or s - now < soonest) then soonest = math.max(0, s - now) end
end
return { now, possible and 1 or 0, soonest, own, callbacks }
