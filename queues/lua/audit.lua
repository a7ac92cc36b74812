-- audit reads, at one instant, all that has to agree about some transactions,
-- queues, senders or members of an index. It changes nothing. Payloads are not
-- touched.
--
-- ARGV[1]  "t", "q", "s" or "m"; then uids, queues, accounts, or pairs of an
--          index and a member of it; a page is an index too
-- Answer:  for each {name, …}, as below; "" for what is not there; for the first of them
--          only, where those have many entries: the caller asks for the others again
-- Cost:    some twenty commands for each; of a queue, by its first 500 in its line and 500
--          past it: three thousand at most
local kind = ARGV[1]
local answer = {}
local looked, MOST = 0, 250 -- entries of queues
local function score(key, member) return call('ZSCORE', P .. key, member) or '' end
local function exists(key) return call('EXISTS', P .. key) end
local function sender(account, field) return call('HGET', P .. 's:' .. account, field) or '' end

-- safe reads a record that may be damaged.
local function safe(read, name)
  local ok, found = pcall(read, name)
  return ok and found or setmetatable({ there = true }, { __index = function() return '' end })
end

local audits = {}

function audits.t(name)
  local posted = call('GETRANGE', P .. 't:' .. name, 0, HEAD)
  local seq, _, _, queue = header(name)
  local state = call('GET', P .. 'x:' .. name) or ''
  local more = {}
  if seq then
    local t, q, states = safe(txn, name), safe(que, queue), ''
    for _, index in ipairs({ 'bound', 'st:DONE', 'st:FAILED', 'st:UNRESOLVED' }) do
      if score(index, name) ~= '' then states = states .. index .. ' ' end
    end
    local process = string.match(t.claim, '^(.*):%d+$') or ''
    more = {
      'bytes', exists('b:' .. name), 'states', states, 'past', score('past:' .. queue, name), 'open', t.open,
      'own', score('own:' .. process, name), 'proc', score('procs', process), 'run', q.run, 'with', q.sender,
      'bound', sender(t.sender, 'queue'), 'registered', exists('s:' .. t.sender), 'back', score('back:' .. queue, name),
      'popped', q.popped, 'told', score('due', 'c:' .. name),
    }
  end
  return { name, string.match(posted, '^[^\n]*\n') or '', state,
    call('HGETALL', P .. 'f:' .. name), more }
end

function audits.q(name)
  local q = sound(name)
  if not q then return { name, call('GET', P .. 'q:' .. name) or '', {} } end
  local first, live, last, ordered = call('ZRANGE', P .. 'back:' .. name, 0, 0)[1], 0, 0, 1
  local back = call('ZCARD', P .. 'back:' .. name)
  for _, uid in ipairs(call('LRANGE', P .. 'line:' .. name, 0, 499)) do
    looked = looked + 1
    local seq = sequence(uid)
    if seq and seq <= last then ordered = 0 end
    last = seq or last
    if seq and not vacant(uid) and safe(txn, uid).phase == 'waiting' then
      live = live + 1
      first = first or uid
    end
  end
  local short = call('LLEN', P .. 'line:' .. name) <= 500
  local counts = { waiting = short and live + back or '', done = '', failed = '', unresolved = '' }
  if call('ZCARD', P .. 'past:' .. name) <= 500 then
    counts.done, counts.failed, counts.unresolved = 0, 0, 0
    for _, uid in ipairs(call('ZRANGE', P .. 'past:' .. name, 0, -1)) do
      looked = looked + 1
      local phase = safe(txn, uid).phase
      if phase ~= 'waiting' and counts[phase] then counts[phase] = counts[phase] + 1 end
    end
  end
  local head = string.match(q.run, '^[^,]*')
  local run, typ, runs = safe(txn, head), nil, nil
  if first then
    local _, _, kind, _, _, _, _, by = header(first)
    typ = kind and readyAs(kind, by)
  end
  if q.run ~= '' then runs = select(4, header(head)) end
  local train = {} -- where several run: each as {uid, the first line of what was posted, what is stored}
  if q.run ~= head then
    for uid in string.gmatch(q.run, '[^,]+') do
      looked = looked + 1
      local posted = string.match(call('GETRANGE', P .. 't:' .. uid, 0, HEAD), '^[^\n]*\n') or ''
      train[#train + 1] = { uid, posted, call('GET', P .. 'x:' .. uid) or '' }
    end
  end
  return { name, call('GET', P .. 'q:' .. name) or '', {
    'listed', score('queues', name), 'active', score('active', name), 'oldest', score('active', '#' .. name),
    'paused', score('paused', name), 'phase', q.run ~= '' and run.phase or '', 'by', run.sender, 'runs', runs or '',
    'bound', sender(q.sender, 'queue'), 'registered', exists('s:' .. q.sender), 'first', first or '', 'type', typ or '',
    'score', score(stands(q)), 'due', score('due', 'q:' .. name), 'ordered', ordered,
    'short', short and 1 or 0, 'waiting', counts.waiting, 'done', counts.done, 'failed', counts.failed,
    'unresolved', counts.unresolved, 'back', back, 'now', now,
  }, train }
end

function audits.s(name)
  local q = safe(que, sender(name, 'queue'))
  return { name, call('HGETALL', P .. 's:' .. name), {
    'listed', score('senders', name), 'free', score('free:' .. sender(name, 'group'), name),
    'with', q.sender, 'run', q.run, 'phase', q.run ~= '' and safe(txn, string.match(q.run, '^[^,]*')).phase or '',
    'due', score('due', 's:' .. name),
  } }
end

-- Whose the members of an index are, and what these say of themselves.
local MEMBERS = {
  ready = { 'q:', function(name) return que(name).ready end }, queues = { 'q:' }, active = { 'q:' },
  paused = { 'q:' }, senders = { 's:' }, past = { 'x:' },
  free = { 's:', function(name) return sender(name, 'queue') end },
  own = { 'x:', function(uid) return txn(uid).claim end },
}
for _, index in ipairs({ 'st', 'bound', 'back' }) do
  MEMBERS[index] = { 'x:', function(uid) return txn(uid).phase end }
end

function audits.m(name, member)
  local index = string.match(name, '^(%a+)')
  if index == 'round' then
    local queue = string.sub(member, 18)
    local at, as = stands(safe(que, queue))
    return { name, member, score(name, member), exists('q:' .. queue), as == member and string.sub(at, 7) or as }
  end
  local of = MEMBERS[index]
  if index == 'page' then
    local seq = header(member)
    return { name, member, '1', seq and 1 or 0, seq or '' }
  elseif of then
    local ok, says = pcall(of[2] or tostring, member)
    return { name, member, score(name, member), exists(of[1] .. string.gsub(member, '^#', '')), ok and of[2] and says or '' }
  end
  -- What belongs to a transaction, or to a queue.
  local there = exists(name .. ':' .. member)
  return { name, member, there == 1 and '1' or '', exists((name == 'line' and 'q:' or 't:') .. member), '' }
end

local at = 2
while at <= #ARGV and looked < MOST do
  answer[#answer + 1] = audits[kind](ARGV[at], ARGV[at + 1])
  at = at + (kind == 'm' and 2 or 1)
end
return answer
