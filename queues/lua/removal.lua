-- Shared by the scripts that remove transactions, put behind lib.lua.

-- finish drops a queue's record with its last transaction; else it is stored.
local function finish(q)
  if q.waiting + q.done + q.failed + q.unresolved > 0 or q.run ~= '' or q.paused ~= '' then return place(q) end
  for _, kind in ipairs({ 'q:', 'line:', 'back:', 'past:' }) do strings[kind .. q.name] = false end
  indexes['past:' .. q.name] = nil
  drop('queues', q.name)
  drop('due', 'q:' .. q.name)
  q.there = nil
end

-- remove forgets a final transaction. Its key is remembered for keep milliseconds,
-- with its type and queue, so that the events which name it can still be told. A
-- queue that waited for the callback of this one waits no more: nobody will tell it.
local function remove(uid, keep)
  local seq, _, typ, queue = header(uid)
  if not seq then return end
  local t, q = txn(uid), que(queue)
  local phase = t.phase
  if BOUND[phase] or phase == 'waiting' then return end
  local page = math.floor(tonumber(seq) / 512)
  call('LREM', P .. 'page:' .. page, 1, uid)
  if call('EXISTS', P .. 'page:' .. page) == 0 then drop('pages', page) end
  drop(INDEX[phase], uid)
  drop('past:' .. queue, uid)
  -- Cancelled before the line came to it:
  if tonumber(seq) > q.popped then call('LREM', P .. 'line:' .. queue, 1, uid) end
  drop('due', 'c:' .. uid)
  drop('due', 'x:' .. uid)
  if owner(t) then drop('own:' .. owner(t), uid) end
  for _, kind in ipairs({ 't:', 'x:', 'b:', 'f:' }) do strings[kind .. uid] = false end
  parse(uid, nil)
  if tonumber(keep) > 0 then call('SET', P .. 'gone:' .. uid, typ .. ' ' .. queue, 'PX', keep) end
  q[phase] = q[phase] - 1
  event('t', uid, '', phase, '', '', 'REMOVED')
  if q.holder == uid then
    q.hold, q.holder = '', ''
    drop('due', 'q:' .. queue)
  end
  finish(q)
end
