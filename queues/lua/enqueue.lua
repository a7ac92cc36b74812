-- enqueue accepts transactions, each for itself, in the order given.
--
-- ARGV[1]  the most waiting transactions that a queue may have, 0 for no limit
-- ARGV[2]  the same for all queues together
-- then for each: uid, "1" if a client chose the uid, type (of a batch type/ledger), queue,
--    payload, and how its first line ends: "", or " <not before> <expires> <max fee> <batch id> …"
-- Answer:  now, "1" if a queue became ready, then for each its sequence (> 0), or
--    0  the uid is taken by a transaction that exists
--   -1  the uid was that of a transaction that was deleted
--   -2  the queue is full
--   -3  too many wait in all
--   a uid: the batch is known by that one
-- Cost:    about five commands, and one for each transaction and for each queue
local limit, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local count = (#ARGV - 2) / 6
local first = call('INCRBY', P .. 'n:seq', count) - count -- refused if the memory is full
local seq = first

-- What is there already, read at once.
local keys, known = {}, {}
local function ask(key)
  if not key or known[key] ~= nil then return end
  known[key] = false
  keys[#keys + 1] = key
end
for i = 3, #ARGV, 6 do
  ask('t:' .. ARGV[i])
  ask('q:' .. ARGV[i + 3])
  ask(ARGV[i + 1] == '1' and 'gone:' .. ARGV[i])
  ask(batchKey(ARGV[i + 2], batchOf(ARGV[i + 5])))
end
for i, key in ipairs(keys) do keys[i] = P .. key end
for i, value in ipairs(call('MGET', unpack(keys))) do
  known[string.sub(keys[i], #P + 1)] = value
end

local total = 0
for _, n in ipairs(most > 0 and call('HVALS', P .. 'waiting') or {}) do total = total + tonumber(n) end
local answer, fresh, lines = { now, 0 }, {}, {}
for i = 3, #ARGV, 6 do
  local uid, chosen, typ, name, payload, more = unpack(ARGV, i, i + 5)
  local key = batchKey(typ, batchOf(more))
  found[name] = known['q:' .. name]
  local q = que(name)
  local result
  if known['t:' .. uid] then
    result = 0
  elseif key and known[key] and known[key] ~= '' then
    result = known[key]
  elseif most > 0 and total + #fresh >= most then
    result = -3
  elseif limit > 0 and q.waiting >= limit then
    result = -2
  elseif chosen == '1' and known['gone:' .. uid] or key and known[key] then
    result = -1
  else
    seq = seq + 1
    result = seq
    known['t:' .. uid] = true
    strings['t:' .. uid] = seq .. ' ' .. stamp .. ' ' .. typ .. ' ' .. name .. more .. '\n' .. payload
    local begins, expires = string.match(more, '^ (%d*) (%d*)')
    if expires and expires ~= '' then put('due', expires, 'd:' .. uid) end
    if key then
      known[key] = uid
      strings[key] = uid
    end
    fresh[#fresh + 1] = uid
    lines[name] = lines[name] or {}
    lines[name][#lines[name] + 1] = uid
    waits(typ, 1)
    call('XADD', P .. 'events', '0-*', 'e', stamp .. ' ' .. uid)
    if not q.there then
      q.there = true
      put('queues', 0, name)
    end
    q.waiting = q.waiting + 1
    if q.waiting == 1 and q.run == '' and q.paused == '' and not holds(q) then
      -- nothing else of the queue waits
      if later(begins) then put('due', begins, 'q:' .. name) else ready(q, uid, typ) end
    end
  end
  answer[#answer + 1] = result
end
for name, uids in pairs(lines) do
  call('RPUSH', P .. 'line:' .. name, unpack(uids))
  note(queues[name])
end
-- Each page takes what is its at once.
local i = 1
while i <= #fresh do
  local page = math.floor((first + i) / 512)
  local last = math.min(#fresh, page * 512 + 511 - first)
  if call('RPUSH', P .. 'page:' .. page, unpack(fresh, i, last)) == last - i + 1 then
    put('pages', page, page)
  end
  i = last + 1
end
if #fresh < count then call('SET', P .. 'n:seq', seq) end
flush()
answer[2] = woken and 1 or 0
return answer
