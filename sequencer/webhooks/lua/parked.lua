-- parked lists what is parked, and what was delivered last.
--
-- ARGV[1]  id, ARGV[2] how many lanes to pass over, ARGV[3] the most lanes, ARGV[4] the
--          most deliveries
-- Answer:  {now, {deliveries, the last first}, then for each lane, by when it is tried: name,
--          how many events, time (ms, inf for when a person asks), the first of them without
--          its body}; {} if there is no such endpoint
-- Cost:    four commands, and two for each lane
if call('EXISTS', H) == 0 then return {} end
local most = tonumber(ARGV[4])
local answer = { now, most > 0 and call('LRANGE', P .. 'sent:' .. id, 0, most - 1) or {} }
local lanes = call('ZRANGE', PARK, ARGV[2], ARGV[2] + ARGV[3] - 1, 'WITHSCORES')
for i = 1, #lanes, 2 do
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3] = lanes[i], call('LLEN', lane(lanes[i])), lanes[i + 1]
  answer[n + 4] = string.match(call('LINDEX', lane(lanes[i]), 0), '^[^\n]*')
end
return answer
