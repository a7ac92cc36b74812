-- load reads what the holder of an endpoint has to know of it.
--
-- ARGV[1]  id, ARGV[2] fence, ARGV[3] how many lanes to pass over, ARGV[4] the most to read
-- Answer:  {} if the lease is another's; else {epoch, number up to which the log is taken
--          over, definition, milliseconds that it rests, events parked, their bytes, then
--          for each lane with parked events: its name and how many they are}
-- Cost:    five commands, and one for each lane
if not held(ARGV[2]) then return {} end
local v = call('HMGET', H, 'what', 'rest', 'parked', 'bytes')
local answer = {
  epoch(), call('ZSCORE', HOOKS, id), v[1], math.max(0, tonumber(v[2] or '0') - now), v[3] or '0', v[4] or '0',
}
for _, name in ipairs(call('ZRANGE', PARK, ARGV[3], ARGV[3] + ARGV[4] - 1)) do
  local n = #answer
  answer[n + 1], answer[n + 2] = name, call('LLEN', lane(name))
end
return answer
