-- act does what a person asks of an endpoint, in steps of 500 lanes. It changes the fence, so
-- that its holder reads it anew; replay only to end a rest, for else it would have whatever is
-- under way sent again.
--
-- ARGV[1]  id, ARGV[2] what:
--    remove   forgets it
--    replay   has every parked event tried at once, as for the first time
--    discard  forgets what is parked in the lane ARGV[3], in all of them if that is ""
--    rewind   has all events behind number ARGV[3] of epoch ARGV[4] delivered once more
-- Answer:  "ok", "more" if it is to be asked again, "none", "gone" if the log has them no
--          longer, "ahead" if it has not come that far
-- Cost:    some ten commands, and four for each lane
if call('EXISTS', H) == 0 then return 'none' end
local STEP = 500
local op = ARGV[2]
local function discard(names)
  for _, name in ipairs(names) do
    local events, bytes = call('LRANGE', lane(name), 0, -1), 0
    for _, e in ipairs(events) do bytes = bytes + #e - #string.match(e, '^%d+ ') end
    call('DEL', lane(name))
    call('ZREM', PARK, name)
    call('HINCRBY', H, 'parked', -#events)
    call('HINCRBY', H, 'bytes', -bytes)
  end
end
if op == 'replay' then
  local names = call('ZRANGEBYSCORE', PARK, '(' .. now, '+inf', 'LIMIT', 0, STEP)
  for _, name in ipairs(names) do
    local number, tries, tail = string.match(call('LINDEX', lane(name), 0), '^(%d+) (%d+)( .*)$')
    call('LSET', lane(name), 0, number .. ' 0' .. tail)
    call('HINCRBY', H, 'bytes', 1 - #tries)
    call('ZADD', PARK, now, name)
  end
  if #names == STEP then return 'more' end
  if (tonumber(call('HGET', H, 'rest') or '') or 0) > now then call('HINCRBY', H, 'rev', 1) end
  call('HDEL', H, 'rest')
  return 'ok'
end
if op == 'rewind' then
  local oldest = call('XRANGE', P .. 'events', '-', '+', 'COUNT', 1)[1]
  local first = oldest and tonumber(string.sub(oldest[1], 3)) or 1
  if ARGV[4] ~= epoch() or tonumber(ARGV[3]) < first - 1 then return 'gone' end
  if tonumber(ARGV[3]) > tonumber(call('ZSCORE', HOOKS, id)) then return 'ahead' end
  call('ZADD', HOOKS, ARGV[3], id)
  call('HINCRBY', H, 'rev', 1)
  return 'ok'
end
call('HINCRBY', H, 'rev', 1)
if op == 'discard' and ARGV[3] ~= '' then
  if not call('ZSCORE', PARK, ARGV[3]) then return 'none' end
  discard({ ARGV[3] })
  return 'ok'
end
discard(call('ZRANGE', PARK, 0, STEP - 1))
if call('EXISTS', PARK) == 1 then return 'more' end
if op == 'remove' then
  call('DEL', H, P .. 'sent:' .. id)
  call('ZREM', HOOKS, id)
end
return 'ok'
