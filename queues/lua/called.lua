-- called stores what became of a callback. Several share a run; see shared.lua.
--
-- ARGV of each: 1 uid, 2 its queue, 3 the callback
--   4  -1 if it was answered, else milliseconds until it is told again
-- Answer, for each: {"1" if a bind may have become possible, tries so far}, or
--   {"error", text}
local function called(o)
  local uid, queue, callback, again = unpack(ARGV, o + 1, o + 4)
  local x, q = P .. 'x:' .. uid, P .. 'q:' .. queue
  if call('HGET', x, 'callback') ~= callback then return { 0, 0 } end
  if again ~= '-1' then
    call('ZADD', P .. 'due', now + tonumber(again), 'c:' .. uid)
    return { 0, call('HINCRBY', x, 'tries', 1) }
  end
  call('HDEL', x, 'callback')
  local v = standing(queue)
  if v[7] ~= uid then
    call('ZREM', P .. 'due', 'c:' .. uid)
    return { 0, 0 }
  end
  call('ZREM', P .. 'due', 'c:' .. uid, 'q:' .. queue)
  call('HDEL', q, 'hold', 'holder')
  v[3] = false -- holds no more
  local possible = place(queue, v)
  if possible then wake() end
  return { possible and 1 or 0, 0 }
end

return each(called)
