-- enqueue accepts transactions, each for itself, in the order given.
--
-- ARGV[1]  the most waiting transactions that a queue may have, 0 for no limit
-- ARGV[2]  the same for all queues together
-- then for each: uid, "1" if a client chose the uid, "dry" if nothing is to be stored, type (of a
--    batch type/ledger), queue, payload, how its first line ends: "", or
--    " <not before> <expires> <max fee> <batch id> …",
--    and the uids that stand for its own: "", or "<uid> <beginning of a queue>|… <uid> …"
-- Answer:  now, "1" if a queue became ready, then for each its sequence (> 0; what is dry has none
--    of its own), or
--    0  the uid is taken by a transaction that exists
--   -1  the uid was that of a transaction that was deleted
--   -2  the queue is full
--   -3  too many wait in all
--   -4  the record of the queue cannot be read
--   a uid: it is known by that one, or its batch is
-- Cost:    about five commands, and one for each transaction and for each queue
local limit, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local count = (#ARGV - 2) / 7
local first = call('INCRBY', P .. 'n:seq', count) - count -- refused if the memory is full
local seq = first

-- What is there already, read at once.
local keys, batches, names, n = { P .. 'stops' }, {}, {}, 1
for i = 3, #ARGV, 7 do
  local uid, chosen, typ, name, _, more, also = unpack(ARGV, i, i + 6)
  keys[n + 1], keys[n + 2] = P .. 't:' .. uid, P .. 'q:' .. name
  n = n + 2
  names[name] = n
  if chosen ~= '' then
    n = n + 1
    keys[n] = P .. 'gone:' .. uid
  end
  local batch = batchKey(typ, batchOf(more))
  if batch then
    n = n + 1
    keys[n], batches[i] = P .. batch, batch
  end
  for other in string.gmatch(also, '(%S+) %S+') do
    keys[n + 1], keys[n + 2] = P .. 't:' .. other, P .. 'gone:' .. other
    n = n + 2
  end
end
local values = call('MGET', unpack(keys))

-- Of a queue in which something waits already, the rest of the record stays as it is. Where something
-- runs it is read which phase that shows, for all at once.
local lines, heads, states = {}, {}, {}
for name, i in pairs(names) do
  local text = values[i] or EMPTY
  local waiting, _, _, _, _, _, run = string.match(text, QUEUE)
  local first = string.match(run or '', '^[^,]*')
  lines[name] = {
    name = name, waiting = tonumber(waiting), rest = waiting and string.sub(text, #waiting + 1), run = first, ran = first,
  }
  if first ~= '' then heads[#heads + 1], states[#states + 1] = first, P .. 'x:' .. first end
end
states = #states > 0 and call('MGET', unpack(states))
for i, first in ipairs(heads) do pcall(parse, first, states[i]) end

-- within answers whether a queue, if there is one, begins so.
local function within(queue, beginnings)
  for begin in string.gmatch(queue and beginnings or '', '[^|]+') do
    if string.sub(queue, 1, #begin) == begin then return true end
  end
end

local total = 0
for _, n in ipairs(most > 0 and call('HVALS', P .. 'waiting') or {}) do total = total + tonumber(n) end
local answer, fresh = { now, 0 }, {}
n = 1
for i = 3, #ARGV, 7 do
  local uid, chosen, typ, name, payload, more, also = unpack(ARGV, i, i + 6)
  local key, batch, gone, former, known = 't:' .. uid, batches[i], false, false, nil
  local there, text = values[n + 1] or strings[key], values[n + 2]
  n = n + 2
  if chosen ~= '' then
    n = n + 1
    gone = values[n]
  end
  if batch then
    n = n + 1
    former = strings[batch] or values[n] -- '': of a batch that is gone
  end
  for other, where in string.gmatch(also, '(%S+) (%S+)') do
    local posted, removed = strings['t:' .. other] or values[n + 1] or '', values[n + 2] or ''
    n = n + 2
    if within(string.match(posted, '^%S+ %S+ %S+ ([^ \n]+)'), where) then known = other end
    gone = gone or within(string.match(removed, '^%S+ (%S+)$'), where)
  end
  local l = lines[name]
  local result
  if there then
    result = 0
  elseif known then
    result = known
  elseif former and former ~= '' then
    result = former
  elseif most > 0 and total + seq - first >= most then
    result = -3
  elseif not l.waiting then
    result = -4
  elseif limit > 0 and l.waiting >= limit then
    result = -2
  elseif gone or former then
    result = -1
  elseif chosen == 'dry' then
    result = seq + 1
  else
    seq = seq + 1
    result = seq
    strings[key] = digits(seq) .. ' ' .. stamp .. ' ' .. typ .. ' ' .. name .. more .. '\n' .. payload
    if batch then strings[batch] = uid end
    local begins, expires, _, by = string.match(more, '^' .. MORE)
    if expires and expires ~= '' then put('due', expires, 'd:' .. uid) end
    fresh[seq - first] = uid
    l[#l + 1] = uid
    waits(typ, 1)
    event('t', uid, '', '', 'waiting', '', '', l)
    l.waiting = l.waiting + 1
    if l.waiting == 1 then -- nothing else of the queue waits
      found[name] = text
      local q = que(name)
      if not text then
        put('queues', 0, name)
        obey(q, values[1])
      end
      if q.run == '' and q.paused == '' and not holds(q) then
        if later(begins) then put('due', begins, 'q:' .. name) else ready(q, uid, typ, by) end
      end
      if q.run == '' then list(q, seq) end
    end
  end
  answer[#answer + 1] = result
end
for name, l in pairs(lines) do
  if l[1] then
    call('RPUSH', P .. 'line:' .. name, unpack(l))
    if queues[name] then
      queues[name].waiting = l.waiting
      note(queues[name])
    else
      strings['q:' .. name] = digits(l.waiting) .. l.rest
    end
  end
end
-- Each page takes what is its at once.
local i = 1
while i <= #fresh do
  local page = math.floor((first + i) / 512)
  local ends = math.min(#fresh, page * 512 + 511 - first)
  if call('RPUSH', P .. 'page:' .. page, unpack(fresh, i, ends)) == ends - i + 1 then
    put('pages', page, page)
  end
  i = ends + 1
end
if #fresh < count then call('SET', P .. 'n:seq', seq) end
flush()
answer[2] = woken and 1 or 0
return answer
