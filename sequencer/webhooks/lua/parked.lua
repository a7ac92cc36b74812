-- parked lists what is parked, and what was delivered last.
--
-- ARGV[1]  id, ARGV[2] when the lane is tried behind which to begin ("" for the first), and
--          ARGV[3] its name, ARGV[4] the most lanes, ARGV[5] the most deliveries
-- Answer:  {now, {deliveries, the last first}, then for each lane, by when it is tried: name,
--          how many events, time (ms, inf for when a person asks), the first of them without
--          its body}; {} if there is no such endpoint
-- Cost:    five commands, and two for each lane
if call('EXISTS', H) == 0 then return {} end
local first = 0
if ARGV[2] ~= '' then -- where that lane has moved, others of its time may come again: none is left out
  local stays = call('ZSCORE', PARK, ARGV[3]) == ARGV[2]
  first = stays and call('ZRANK', PARK, ARGV[3]) + 1 or call('ZCOUNT', PARK, '-inf', '(' .. ARGV[2])
end
local most = tonumber(ARGV[5])
local answer = { now, most > 0 and call('LRANGE', P .. 'sent:' .. id, 0, most - 1) or {} }
local lanes = ARGV[4] ~= '0' and call('ZRANGE', PARK, first, first + ARGV[4] - 1, 'WITHSCORES') or {}
for i = 1, #lanes, 2 do
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3] = lanes[i], call('LLEN', lane(lanes[i])), lanes[i + 1]
  answer[n + 4] = string.match(call('LINDEX', lane(lanes[i]), 0), '^[^\n]*')
end
return answer
