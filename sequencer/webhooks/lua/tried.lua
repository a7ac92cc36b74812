-- tried notes what came of a try of a parked event, the first of its lane. If it was
-- delivered the next one of the lane is due at once.
--
-- ARGV[1]  id, ARGV[2] fence, ARGV[3] lane, ARGV[4] number of the event
-- ARGV[5]  milliseconds until it is tried again, -1 for not before a person asks, -2 if
--          it was delivered
-- ARGV[6]  how often it was tried, ARGV[7] milliseconds to rest, ARGV[8] the try as JSON
-- Answer:  the bytes that are parked in all lanes, -1 if the lease is another's
-- Cost:    some ten commands
if not held(ARGV[2]) then return -1 end
local list, name = lane(ARGV[3]), ARGV[3]
local entry = call('LINDEX', list, 0)
-- Another number: a repeat, for the answer was lost.
if entry and string.match(entry, '^%d+') == ARGV[4] then
  local tail = string.match(entry, '^%d+ %d+( .*)$')
  if ARGV[5] == '-2' then
    call('LPOP', list)
    call('HINCRBY', H, 'parked', -1)
    call('HINCRBY', H, 'bytes', #ARGV[4] + 1 - #entry)
    if call('EXISTS', list) == 1 then call('ZADD', PARK, due(0), name) else call('ZREM', PARK, name) end
  else
    local again = ARGV[4] .. ' ' .. ARGV[6] .. tail
    call('LSET', list, 0, again)
    call('HINCRBY', H, 'bytes', #again - #entry)
    call('ZADD', PARK, due(ARGV[5]), name)
  end
  told(8, 8)
end
rest(ARGV[7])
return tonumber(call('HGET', H, 'bytes') or 0)
