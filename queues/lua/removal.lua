-- Shared by the scripts that remove transactions, put behind lib.lua.

-- finish drops a queue's record with its last transaction.
local function finish(queue)
  local v = call('HMGET', P .. 'q:' .. queue, 'w', 'd', 'f', 'u', 'run', 'paused')
  for i = 1, 4 do
    if v[i] and tonumber(v[i]) > 0 then return end
  end
  if v[5] or v[6] then return end
  call('DEL', P .. 'q:' .. queue, P .. 'line:' .. queue, P .. 'back:' .. queue, P .. 'past:' .. queue)
  call('ZREM', P .. 'queues', queue)
  call('ZREM', P .. 'due', 'q:' .. queue)
end

-- remove forgets a final transaction. Its key is remembered for keep
-- milliseconds, with its type and queue, so that the events which name it can
-- still be told. It answers whether a queue is ready that waited for the
-- callback of this one, which nobody will tell any more.
local function remove(uid, keep)
  local seq, _, typ, queue = header(uid)
  if not seq then return false end
  local phase = call('HGET', P .. 'x:' .. uid, 'phase')
  if not phase or BOUND[phase] or phase == 'waiting' then return false end
  local page = math.floor(tonumber(seq) / 512)
  call('LREM', P .. 'page:' .. page, 1, uid)
  if call('EXISTS', P .. 'page:' .. page) == 0 then call('ZREM', P .. 'pages', page) end
  call('ZREM', P .. INDEX[phase], uid)
  call('ZREM', P .. 'past:' .. queue, uid)
  if tonumber(seq) > tonumber(call('HGET', P .. 'q:' .. queue, 'popped') or '0') then
    call('LREM', P .. 'line:' .. queue, 1, uid) -- cancelled before the line came to it
  end
  call('ZREM', P .. 'due', 'c:' .. uid, 'x:' .. uid)
  call('DEL', P .. 't:' .. uid, P .. 'x:' .. uid, P .. 'b:' .. uid)
  if tonumber(keep) > 0 then call('SET', P .. 'gone:' .. uid, typ .. ' ' .. queue, 'PX', keep) end
  call('HINCRBY', P .. 'q:' .. queue, COUNT[phase], -1)
  event('t', uid, '', phase, '', '', 'REMOVED')
  local held = call('HGET', P .. 'q:' .. queue, 'holder') == uid
  if held then
    call('HDEL', P .. 'q:' .. queue, 'hold', 'holder')
    call('ZREM', P .. 'due', 'q:' .. queue)
  end
  finish(queue)
  return held and place(queue)
end
