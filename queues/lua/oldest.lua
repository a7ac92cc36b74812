-- oldest tells of queues when their oldest waiting transaction was received. It
-- changes nothing.
--
-- ARGV  queues, at most 500
-- Answer: a time for each, 0 if none is found among the first of its line
local answer = {}
for i, queue in ipairs(ARGV) do
  local _, at
  local back = call('ZRANGE', P .. 'back:' .. queue, 0, 0)[1]
  if back then
    _, at = header(back)
  else
    for _, uid in ipairs(call('LRANGE', P .. 'line:' .. queue, 0, 9)) do
      local phase = call('HGET', P .. 'x:' .. uid, 'phase')
      if not phase or phase == 'waiting' then
        _, at = header(uid)
        break
      end
    end
  end
  answer[i] = at or 0
end
return answer
