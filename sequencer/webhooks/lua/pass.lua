-- pass moves the cursor of an endpoint: all up to there is delivered, is not for it, or is
-- parked by this script.
--
-- ARGV[1]  id, ARGV[2] fence, ARGV[3] epoch under which the log was read
-- ARGV[4]  the cursor as it was, ARGV[5] as it is to be
-- ARGV[6]  milliseconds to rest, ARGV[7] how many events are dropped for want of room
-- ARGV[8]  how many deliveries to note, then each of them as JSON
-- then for each event to be parked: lane, number, milliseconds until it is tried, text
-- Answer:  1, 0 if the lease is another's or the log is another story
-- Cost:    four commands, two for the deliveries, three for each event parked
if not held(ARGV[2]) or epoch() ~= ARGV[3] then return 0 end
local at = tonumber(call('ZSCORE', HOOKS, id))
local from, to, n = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[8])
if at == to and from ~= to then return 1 end -- a repeat: the answer was lost
if at ~= from then return 0 end
if from ~= to then call('ZADD', HOOKS, ARGV[5], id) end
rest(ARGV[6])
told(9, 8 + n)
if ARGV[7] ~= '0' then call('HINCRBY', H, 'dropped', ARGV[7]) end
local parked, bytes = 0, 0
for i = 9 + n, #ARGV, 4 do
  local name, text = ARGV[i], ARGV[i + 3]
  if call('RPUSH', lane(name), ARGV[i + 1] .. ' ' .. text) == 1 then call('ZADD', PARK, due(ARGV[i + 2]), name) end
  parked, bytes = parked + 1, bytes + #text
end
if parked > 0 then
  call('HINCRBY', H, 'parked', parked)
  call('HINCRBY', H, 'bytes', bytes)
end
return 1
