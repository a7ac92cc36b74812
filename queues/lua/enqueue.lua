-- enqueue accepts transactions, each for itself, in the order given.
--
-- ARGV[1]  the most waiting transactions that a queue may have, 0 for no limit
-- ARGV[2]  the same for all queues together
-- then for each: uid, "1" if a client chose the uid, type, queue, payload
--
-- Answer: now, "1" if a queue became ready, then for each its sequence (> 0), or
--    0  the uid is taken by a transaction that exists
--   -1  the uid was that of a transaction that was deleted
--   -2  the queue is full
--   -3  too many wait in all
local limit, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local waiting = 0
for _, n in ipairs(most > 0 and call('HVALS', P .. 'waiting') or {}) do waiting = waiting + tonumber(n) end
local first = tonumber(call('GET', P .. 'n:seq') or '0')
local seq = first
local answer = { now, 0 }
local fresh = {} -- uids accepted, in order
local types = {} -- how many of each
local stamp = now .. ' ' -- numbers take long to write: once for all
for i = 3, #ARGV, 5 do
  local uid, queue = ARGV[i], ARGV[i + 3]
  local q = P .. 'q:' .. queue
  local result
  if most > 0 and waiting + #fresh >= most then
    result = call('EXISTS', P .. 't:' .. uid) == 1 and 0 or -3
  elseif limit > 0 and tonumber(call('HGET', q, 'w') or '0') >= limit then
    result = call('EXISTS', P .. 't:' .. uid) == 1 and 0 or -2
  elseif ARGV[i + 1] == '1' and call('EXISTS', P .. 'gone:' .. uid) == 1 then
    result = -1
  elseif not call('SET', P .. 't:' .. uid,
      (seq + 1) .. ' ' .. stamp .. ARGV[i + 2] .. ' ' .. queue .. '\n' .. ARGV[i + 4], 'NX') then
    result = 0
  else
    seq = seq + 1
    result = seq
    call('RPUSH', P .. 'line:' .. queue, uid)
    fresh[#fresh + 1] = uid
    types[ARGV[i + 2]] = (types[ARGV[i + 2]] or 0) + 1
    call('XADD', P .. 'events', '0-*', 'e', stamp .. uid)
    if call('HINCRBY', q, 'w', 1) == 1 then
      -- Nothing else of the queue waits: this one is its head.
      local v = call('HMGET', q, 'run', 'paused', 'hold', 'ready', 'popped')
      if not v[5] then call('ZADD', P .. 'queues', 0, queue) end
      if admits(v) then
        ready(queue, v[4], uid, seq, ARGV[i + 2])
        answer[2] = 1
      end
    end
  end
  answer[#answer + 1] = result
end
if seq > first then
  for typ, n in pairs(types) do waits(typ, n) end
  -- Each page takes what is its at once.
  local i = 1
  while i <= #fresh do
    local page = math.floor((first + i) / 512)
    local last = math.min(#fresh, page * 512 + 511 - first)
    if call('RPUSH', P .. 'page:' .. page, unpack(fresh, i, last)) == last - i + 1 then
      call('ZADD', P .. 'pages', page, page)
    end
    i = last + 1
  end
  call('SET', P .. 'n:seq', seq)
end
if answer[2] == 1 then wake() end
return answer
