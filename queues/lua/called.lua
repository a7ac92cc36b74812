-- called stores what became of a callback. Several share a run; see several.lua.
--
-- ARGV of each: 1 uid, 2 its queue, 3 the callback
--   4  -1 if it was answered, else milliseconds until it is told again
--   5  what the worker said, JSON that only processes read  6 "1" if it is to be an event
-- Answer, for each: {"1" if a bind may have become possible, tries so far}, or
--   {"error", text}
-- Cost: about six commands, one more for an event, and three for each queue that goes on
local function called(o)
  local uid, queue, callback, again, said, speaks = unpack(ARGV, o + 1, o + 6)
  local t = txn(uid)
  if t.callback ~= callback then return { 0, 0 } end
  local tries = digits((tonumber(t.tries) or 0) + 1)
  t.said = '{"told":{"at":' .. stamp .. ',"tries":' .. tries .. ',"callback":"' .. callback .. '","done":' ..
    (again == '-1' and 'true' or 'false') .. ',"said":' .. said .. '}\n'
  if again ~= '-1' then
    put('due', now + again, 'c:' .. uid)
    t.tries = tries
    write(t)
    return { 0, t.tries }
  end
  t.callback = ''
  write(t)
  drop('due', 'c:' .. uid)
  local q = que(queue)
  if speaks == '1' then event('t', uid, t.sender, t.phase, t.phase, '', 'ANSWERED', q) end
  if not awaits(q, uid) then return { 0, 0 } end
  if answered(q, uid) then drop('due', 'q:' .. queue) end
  place(q)
  return { q.ready ~= '' and 1 or 0, 0 }
end

local answers = each(called, function() return true end)
flush()
return answers
