-- Shared by the scripts that remove transactions, put behind lib.lua.

-- finish drops a queue's record with its last transaction, unless a person has said
-- something of it; else it is stored.
local function finish(q)
  if q.waiting + q.done + q.failed + q.unresolved > 0 or q.run ~= '' or q.paused ~= '' or q.width ~= '' then
    return place(q)
  end
  for _, kind in ipairs({ 'q:', 'line:', 'back:', 'past:' }) do strings[kind .. q.name] = false end
  indexes['past:' .. q.name] = nil
  drop('queues', q.name)
  list(q)
  drop('due', 'q:' .. q.name)
  drop('due', 'p:' .. q.name)
  q.there = nil
end

-- vacate has what is removed leave its place in the line vacant. Where more than half of a
-- line is of no use any more, its front is handed on to those that came back, of one line in
-- a run, which would gather more than it can write: so one that nothing is taken from does not
-- grow for ever.
local SPARE, FRONT, handed = 512, 64, false
local function vacate(q, uid, seq)
  local line = P .. 'line:' .. q.name
  local at = preceding(line, seq)
  if call('LINDEX', line, at) == uid then call('LSET', line, at, '#' .. seq) end
  if handed or call('LLEN', line) <= 2 * (q.waiting - q.back) + SPARE then return end
  handed = true
  for _, entry in ipairs(call('LRANGE', line, 0, FRONT - 1)) do
    local behind = sequence(entry)
    if behind then
      q.popped = behind
      local t = not vacant(entry) and (whole(entry) or { phase = 'waiting' })
      if t and t.phase == 'waiting' then came(q, entry, behind) end
      if t and t.fresh then -- those that came back have changed
        write(t)
        put('past:' .. q.name, behind, entry)
      end
    end
  end
  call('LTRIM', line, FRONT, -1)
end

-- remove forgets a final transaction. Its key is remembered for keep milliseconds,
-- with its type and queue, so that the events which name it can still be told. A
-- queue that waited for the callback of this one waits no more: nobody will tell it. Where
-- its record cannot be read nothing is removed yet.
local function remove(uid, keep)
  local seq, _, typ, queue, _, _, batch = header(uid)
  if not seq then return end
  local t, q = txn(uid), sound(queue, 'x:' .. uid)
  if not q then return end
  local phase = t.phase
  if BOUND[phase] or phase == 'waiting' then return end
  local page = math.floor(tonumber(seq) / 512)
  call('LREM', P .. 'page:' .. page, 1, uid)
  if call('EXISTS', P .. 'page:' .. page) == 0 then drop('pages', page) end
  drop(INDEX[phase], uid)
  drop('past:' .. queue, uid)
  -- Cancelled before the line came to it:
  if tonumber(seq) > q.popped then vacate(q, uid, tonumber(seq)) end
  drop('due', 'c:' .. uid)
  drop('due', 'x:' .. uid)
  drop('due', 'd:' .. uid)
  if owner(t) then drop('own:' .. owner(t), uid) end
  for _, kind in ipairs({ 't:', 'x:', 'b:', 'f:' }) do strings[kind .. uid] = false end
  parse(uid, nil)
  if tonumber(keep) > 0 then call('SET', P .. 'gone:' .. uid, typ .. ' ' .. queue, 'PX', keep) end
  if batch ~= '' then call('SET', P .. batchKey(typ, batch), '', 'PX', math.max(1, tonumber(keep))) end
  q[phase] = q[phase] - 1
  event('t', uid, '', phase, '', '', 'REMOVED', q)
  if answered(q, uid) then drop('due', 'q:' .. queue) end
  finish(q)
end
