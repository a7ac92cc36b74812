-- standing says where a transaction stands in its queue. It changes nothing.
--
-- ARGV[1]  uid
-- Answer: {waiting ones before it, uid of the first of the queue, uid whose
--          callback the queue waits for or "", until when or 0}, or {} if gone
local seq, _, _, queue = header(ARGV[1])
if not seq then return {} end
local v = call('HMGET', P .. 'q:' .. queue, 'run', 'holder', 'hold')
local held = v[3] and tonumber(v[3]) > now
local first = v[1] or call('ZRANGE', P .. 'back:' .. queue, 0, 0)[1]
local ahead = call('ZCOUNT', P .. 'back:' .. queue, '-inf', '(' .. seq)
local low, high = 0, call('LLEN', P .. 'line:' .. queue)
while low < high do
  local middle = math.floor((low + high) / 2)
  if tonumber((header(call('LINDEX', P .. 'line:' .. queue, middle)))) < tonumber(seq) then low = middle + 1 else high = middle end
end
-- Those cancelled in the line still stand there. Behind the first 500 they are
-- counted along.
local dead = 0
for _, uid in ipairs(call('LRANGE', P .. 'line:' .. queue, 0, math.min(low, 500))) do
  local phase = call('HGET', P .. 'x:' .. uid, 'phase')
  if phase and phase ~= 'waiting' then
    if tonumber((header(uid))) < tonumber(seq) then dead = dead + 1 end
  elseif not first then
    first = uid
  end
end
return { ahead + low - dead, first or '', held and v[2] or '', held and v[3] or 0 }
