-- standing says where a transaction stands in its queue. It changes nothing.
--
-- ARGV[1]  uid
-- Answer:  {waiting ones before it, uid of the first of the queue, uid whose
--          callback the queue waits for or "", until when or 0}, or {} if gone
-- Cost:    by the logarithm of the queue's length, and the first 500 of its line
local seq, _, _, queue = header(ARGV[1])
if not seq then return {} end
local q = que(queue)
local held = holds(q)
local first = q.run ~= '' and string.match(q.run, '^[^,]+') or call('ZRANGE', P .. 'back:' .. queue, 0, 0)[1]
local ahead = call('ZCOUNT', P .. 'back:' .. queue, '-inf', '(' .. seq)
local low = preceding(P .. 'line:' .. queue, tonumber(seq))
-- Those cancelled or removed in the line still stand there. Behind the first 500 they are
-- counted along.
local dead = 0
for _, uid in ipairs(call('LRANGE', P .. 'line:' .. queue, 0, math.min(low, 500))) do
  if vacant(uid) or (whole(uid) or { phase = 'waiting' }).phase ~= 'waiting' then
    if sequence(uid) < tonumber(seq) then dead = dead + 1 end
  elseif not first then
    first = uid
  end
end
return { ahead + low - dead, first or '', held and string.match(q.holder, '^!%d+,([^,]*)') or held and string.match(q.holder, '^([^,!][^,]*)') or '', held and q.hold or 0 }
