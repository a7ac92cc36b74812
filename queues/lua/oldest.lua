-- oldest tells of queues when their oldest waiting transaction was received. It
-- changes nothing.
--
-- ARGV     queues, at most 100
-- Answer:  a time for each, 0 if none is found among the first of its line
-- Cost:    three commands for each, more where what was cancelled stands in front
local answer = {}
for i, queue in ipairs(ARGV) do
  local uid = call('ZRANGE', P .. 'back:' .. queue, 0, 0)[1]
  for _, other in ipairs(not uid and call('LRANGE', P .. 'line:' .. queue, 0, 9) or {}) do
    if not vacant(other) and (whole(other) or { phase = 'waiting' }).phase == 'waiting' then
      uid = other
      break
    end
  end
  answer[i] = uid and select(2, header(uid)) or 0
end
return answer
