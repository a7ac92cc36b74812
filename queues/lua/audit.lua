-- audit reads, at one instant, all that has to agree about some transactions,
-- queues, senders or members of an index. It changes nothing. Payloads are not
-- touched.
--
-- ARGV[1]  "t", "q", "s" or "m"; then uids, queues, accounts, or pairs of an
--          index and a member of it; a page is an index too
-- Answer: for each {name, …}, as below; "" for what is not there
local kind = ARGV[1]
local answer = {}
local function score(key, member) return call('ZSCORE', P .. key, member) or '' end
local function exists(key) return call('EXISTS', P .. key) end
local function get(key, field) return call('HGET', P .. key, field) or '' end

local owner = {
  ready = 'q:', queues = 'q:', free = 's:', senders = 's:', own = 'x:', st = 'x:', bound = 'x:', past = 'x:', back = 'x:', astray = 'x:',
}
local field = { ready = 'ready', free = 'queue', own = 'claim', st = 'phase', bound = 'phase', back = 'phase', astray = 'phase' }

local at = 2
while at <= #ARGV do
  local name = ARGV[at]
  at = at + 1
  if kind == 't' then
    local head = call('GETRANGE', P .. 't:' .. name, 0, 255)
    local seq, _, _, queue = header(name)
    local x, more = call('HGETALL', P .. 'x:' .. name), {}
    if seq then
      local states = ''
      for _, index in ipairs({ 'bound', 'st:DONE', 'st:FAILED', 'st:UNRESOLVED' }) do
        if score(index, name) ~= '' then states = states .. index .. ' ' end
      end
      local claim, sender = get('x:' .. name, 'claim'), get('x:' .. name, 'sender')
      local process = string.match(claim, '^(.*):%d+$') or ''
      more = {
        'bytes', exists('b:' .. name), 'states', states, 'past', score('past:' .. queue, name),
        'own', score('own:' .. process, name), 'proc', score('procs', process),
        'run', get('q:' .. queue, 'run'), 'with', get('q:' .. queue, 'sender'), 'bound', get('s:' .. sender, 'queue'),
        'registered', exists('s:' .. sender), 'back', score('back:' .. queue, name), 'popped', get('q:' .. queue, 'popped'),
        'told', score('due', 'c:' .. name),
      }
    end
    answer[#answer + 1] = { name, string.match(head, '^[^\n]*\n') or '', x, more }
  elseif kind == 'q' then
    local run, with = get('q:' .. name, 'run'), get('q:' .. name, 'sender')
    local first, live, last, ordered = call('ZRANGE', P .. 'back:' .. name, 0, 0)[1], 0, 0, 1
    for _, uid in ipairs(call('LRANGE', P .. 'line:' .. name, 0, 499)) do
      local seq = tonumber((header(uid)))
      local phase = call('HGET', P .. 'x:' .. uid, 'phase')
      if seq and seq <= last then ordered = 0 end
      last = seq or last
      if seq and (not phase or phase == 'waiting') then
        live = live + 1
        first = first or uid
      end
    end
    local short = call('LLEN', P .. 'line:' .. name) <= 500
    live = live + call('ZCARD', P .. 'back:' .. name)
    local counts = { w = short and live or '', d = '', f = '', u = '' }
    if call('ZCARD', P .. 'past:' .. name) <= 500 then
      counts.d, counts.f, counts.u = 0, 0, 0
      for _, uid in ipairs(call('ZRANGE', P .. 'past:' .. name, 0, -1)) do
        local c = COUNT[call('HGET', P .. 'x:' .. uid, 'phase') or '']
        if c and c ~= 'w' then counts[c] = counts[c] + 1 end
      end
    end
    local seq, typ, _ = '', '', nil
    if first then seq, _, typ = header(first) end
    local noted = get('q:' .. name, 'ready')
    local runs = ''
    if run ~= '' then _, _, _, runs = header(run) end
    answer[#answer + 1] = { name, call('HGETALL', P .. 'q:' .. name), {
      'listed', score('queues', name), 'phase', get('x:' .. run, 'phase'), 'by', get('x:' .. run, 'sender'), 'runs', runs or '',
      'bound', get('s:' .. with, 'queue'), 'registered', exists('s:' .. with), 'first', first or '', 'seq', seq or '', 'type', typ or '',
      'score', score('ready:' .. noted, name), 'noted', get('q:' .. name, 'first'), 'due', score('due', 'q:' .. name), 'ordered', ordered, 'short', short and 1 or 0,
      'w', counts.w, 'd', counts.d, 'f', counts.f, 'u', counts.u, 'now', now,
    } }
  elseif kind == 's' then
    local queue = get('s:' .. name, 'queue')
    local run = get('q:' .. queue, 'run')
    answer[#answer + 1] = { name, call('HGETALL', P .. 's:' .. name), {
      'listed', score('senders', name), 'free', score('free:' .. get('s:' .. name, 'group'), name),
      'with', get('q:' .. queue, 'sender'), 'run', run, 'phase', get('x:' .. run, 'phase'), 'due', score('due', 's:' .. name),
    } }
  else
    local member = ARGV[at]
    at = at + 1
    local index = string.match(name, '^(%a+)')
    local there, whose, says = '', 1, ''
    if index == 'page' then
      local seq = header(member)
      there, whose, says = '1', seq and 1 or 0, seq or ''
    elseif owner[index] then
      there, whose = score(name, member), exists(owner[index] .. member)
      if field[index] then says = get(owner[index] .. member, field[index]) end
    else
      -- What belongs to a transaction, or to a queue.
      there, whose = tostring(exists(name .. ':' .. member)), exists(((name == 'line') and 'q:' or 't:') .. member)
      if there == '0' then there = '' end
    end
    answer[#answer + 1] = { name, member, tostring(there), whose, says }
  end
end
return answer
