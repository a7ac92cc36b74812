-- pause keeps a queue from binding, or lets it bind again.
--
-- ARGV[1]  queue, ARGV[2] why it is paused, "" to resume it
-- Answer: {"ok", "1" if a bind may have become possible}, or {"gone"}
local q = P .. 'q:' .. ARGV[1]
if call('EXISTS', q) == 0 then return { 'gone' } end
local paused = call('HGET', q, 'paused')
if ARGV[2] ~= '' then
  call('HSET', q, 'paused', ARGV[2])
  if not paused then event('q', ARGV[1], '', '', '', '', 'PAUSED') end
elseif paused then
  call('HDEL', q, 'paused', 'streak')
  event('q', ARGV[1], '', '', '', '', 'RESUMED')
end
if place(ARGV[1]) then
  wake()
  return { 'ok', 1 }
end
if ARGV[2] == '' then finish(ARGV[1]) end
return { 'ok', 0 }
