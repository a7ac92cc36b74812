-- called stores what became of a callback.
--
-- ARGV[1]  uid, ARGV[2] the callback
-- ARGV[3]  -1 if it was answered, else milliseconds until it is told again
-- Answer: {"1" if a bind may have become possible, tries so far}
local x = P .. 'x:' .. ARGV[1]
if call('HGET', x, 'callback') ~= ARGV[2] then return { 0, 0 } end
if ARGV[3] ~= '-1' then
  call('ZADD', P .. 'due', now + tonumber(ARGV[3]), 'c:' .. ARGV[1])
  return { 0, call('HINCRBY', x, 'tries', 1) }
end
call('HDEL', x, 'callback')
local _, _, _, queue = header(ARGV[1])
local q = P .. 'q:' .. (queue or '')
local holds = queue and call('HGET', q, 'holder') == ARGV[1]
if not holds then
  call('ZREM', P .. 'due', 'c:' .. ARGV[1])
  return { 0, 0 }
end
call('ZREM', P .. 'due', 'c:' .. ARGV[1], 'q:' .. queue)
call('HDEL', q, 'hold', 'holder')
if place(queue) then
  wake()
  return { 1, 0 }
end
return { 0, 0 }
