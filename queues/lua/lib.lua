-- Shared by all scripts, put before each of them.
--
-- KEYS[1] is the prefix of every key, "{namespace}:". Its hash tag puts all keys of
-- a namespace into one slot, so that a script may name them itself. The layout of
-- the keys is described in keys.go.
--
-- No key has the prefix alone as its name, and KEYS has a second one: of several keys of
-- which one is missing, neither server serves a script while a Cluster moves the slot
-- (ASK, TRYAGAIN), so that none finds a part of the namespace and begins the rest anew.
--
-- What a script changes of transactions, queues and indexes is gathered, and written
-- by flush with few commands, however many of them there are.

local P = KEYS[1]
local call = redis.call

-- Milliseconds and microseconds since 1970 by the clock of Redis: processes may
-- disagree about the time, so none of them is asked.
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local micros = clock[1] * 1000000 + clock[2]
-- now, as it is stored: Redis is slow at making words of numbers.
local stamp = clock[1] .. string.sub(1000 + math.floor(clock[2] / 1000), 2)

local DAY = 86400000 -- milliseconds

-- digits is a whole number as it is stored: what Lua or Redis makes of a number costs four times as much.
local function digits(n) return string.format('%d', n) end

-- moment is later than every one that this script has asked for: what is put in
-- order by it stays in the order in which the script came to it. As a word it has sixteen
-- digits, so that words stand in that order, too.
local moments = 0
local function moment()
  moments = moments + 1
  return string.format('%016d', micros + moments - 1)
end

-- server names the history that this Redis writes, by its replication id: another one
-- after a restart, a failover, and one there and back, which a run id would not tell. One
-- that does not tell it never changes.
local function server()
  local info = redis.pcall('INFO', 'replication')
  local _, before = string.find(type(info) == 'string' and info or '', 'master_replid:', 1, true)
  return before and string.match(info, '^%w+', before + 1) or 'none'
end

-- settled answers whether this is the Redis on which the namespace was last
-- reconciled. On any other nothing is bound, and nothing may leave a process. stored is
-- is:server, where the caller has read it along with something else.
local reconciled
local function settled(stored)
  if reconciled == nil then reconciled = (stored or call('GET', P .. 'is:server')) == server() end
  return reconciled
end

-- doubted answers whether this Redis may have forgotten something: the namespace was
-- reconciled once, and on this one not yet. Then no end is believed, and nothing removed.
local function doubted() return not settled() and call('EXISTS', P .. 'is:server') == 1 end

-- epoch is that of the event log.
local function epoch() return call('GET', P .. 'is:epoch') or '0' end

-- lives reports whether the claims of a process hold. Nobody takes over from one
-- that is not known, so it gets none: a failover may have forgotten that it is here.
local function lives(process)
  local ends = call('ZSCORE', P .. 'procs', process)
  return ends and tonumber(ends) > now
end

-- later reports whether a time is set, and still to come.
local function later(time) return time and time ~= '' and tonumber(time) > now end

local BOUND = { dispatching = true, sent = true, watching = true, failing = true, delayed = true }
-- The index that lists a transaction by its state: one for all bound phases,
-- which pass quickly and are few.
local INDEX = {
  dispatching = 'bound', sent = 'bound', watching = 'bound', failing = 'bound', delayed = 'bound',
  done = 'st:DONE', failed = 'st:FAILED', unresolved = 'st:UNRESOLVED',
}

-- put has a member stand in an index, drop has it leave; the last word counts.
local indexes = {} -- for each, the score of a member, or false
local function put(index, score, member)
  local members = indexes[index]
  if not members then
    members = {}
    indexes[index] = members
  end
  members[member] = score
end
local function drop(index, member) put(index, false, member) end

local strings = {} -- what is stored under keys; false deletes

local changed = {} -- senders, see sender.lua

-- count adds to a number in a hash, counted is what that comes to.
local counts = {}
local function count(key, field, n)
  counts[key] = counts[key] or {}
  counts[key][field] = (counts[key][field] or 0) + n
end
local function counted(key, field)
  return tonumber(call('HGET', P .. key, field) or '0') + (counts[key] and counts[key][field] or 0)
end

-- waits counts n more transactions of a type among those that wait.
local function waits(typ, n) count('waiting', typ, n) end

-- header returns sequence, time of receipt, type and queue of a transaction, not before when
-- it may be bound, when it expires, the id of a batch, and who posted it, "" for none; of a
-- batch the type has its ledger behind it, type/ledger. It returns nil if there is no
-- transaction. The payload behind the first line is not touched.
local HEAD = '1023' -- up to this byte stands every first line
local MORE = ' ?(%d*) ?(%d*) ?%d* ?([^ \n]*) ?[^ \n]* ?([^ \n]*)'
local HEADER = '^(%d+) (%d+) (%S+) (%S+)' .. MORE .. '[^\n]*\n'
local function header(uid)
  local key = 't:' .. uid
  if strings[key] == false then return nil end -- removed in this run
  return string.match(call('GETRANGE', P .. key, '0', HEAD), HEADER)
end

-- batchKey is the key that a batch is known by beside its uid, nil if it is none.
local function batchKey(typ, batch) return batch ~= '' and 'batch:' .. string.match(typ, '/(.*)$') .. '/' .. batch or nil end

-- batchOf is the id of a batch by how the first line of what was posted ends.
local function batchOf(more) return more == '' and '' or select(3, string.match(more, '^' .. MORE)) end

-- What is removed while it stands in a line leaves its place vacant: '#' and its
-- sequence, which is no uid. A list gives up no entry of its middle at once.
local function vacant(entry) return string.byte(entry) == 35 end
local function sequence(entry)
  return tonumber(vacant(entry) and string.sub(entry, 2) or (header(entry)))
end

-- preceding counts those of a list in order of sequence that stand before one.
local function preceding(list, seq)
  local low, high = 0, call('LLEN', list)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if sequence(call('LINDEX', list, middle)) < seq then low = middle + 1 else high = middle end
  end
  return low
end

-- What is stored of a transaction: a line of words that scripts read or write, in this
-- order, empty for none, and behind it the record, which they do not read. fresh is one
-- that has not changed since it was posted. codec.go has the same words.
local TXN = '^(%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*) (%S*)\n()'
local txns = {}

local function parse(uid, text)
  local revision, operation, claim, phase, sender, since, due, open, callback, tries, overtaken, fees, facts, at =
    string.match(text or '0   waiting    0     \n', TXN)
  if not revision then error('the state of ' .. uid .. ' is damaged') end
  -- Made at once: Lua is slow at tables that grow.
  local t = {
    uid = uid, fresh = not text, revision = tonumber(revision), operation = operation, claim = claim, phase = phase,
    was = phase, sender = sender, since = since, due = due, open = open, callback = callback, tries = tries,
    overtaken = overtaken,
    fees = fees, facts = facts, text = text or '', at = at, record = false, said = false,
  }
  txns[uid] = t
  return t
end

local function txn(uid) return txns[uid] or parse(uid, call('GET', P .. 'x:' .. uid)) end

-- whole is txn, or nil for one whose words cannot be read: it holds up no other.
local function whole(uid)
  local ok, t = pcall(txn, uid)
  return ok and t or nil
end

-- What a worker has said to a callback is a field of the record that stands first, on a line of its own: it is
-- kept whatever record is stored behind it. It is what is said now, or what was said before.
local SAID = '^{"told":[^\n]*\n'
local function recorded(t)
  if not t.record and not t.said then return string.sub(t.text, t.at) end
  local before = string.match(t.text, SAID, t.at) or ''
  local said, rest = t.said or before, t.record or string.sub(t.text, t.at + #before)
  if said == '' or not t.record and before ~= '' then return said .. rest end
  return said .. (#rest > 2 and ',' .. string.sub(rest, 2) or '}')
end

-- write has a transaction stored, with the record that it had unless it is given another
-- one, and returns it as text, and its words.
local function write(t)
  local words = digits(t.revision) .. ' ' .. t.operation .. ' ' .. t.claim .. ' ' .. t.phase .. ' ' .. t.sender .. ' ' ..
    t.since .. ' ' .. t.due .. ' ' .. t.open .. ' ' .. t.callback .. ' ' .. t.tries .. ' ' .. t.overtaken .. ' ' ..
    t.fees .. ' ' .. t.facts .. '\n'
  local text = words .. recorded(t)
  strings['x:' .. t.uid] = text
  return text, words
end

-- owner is the process that has claimed a transaction, nil if none has.
local function owner(t) return string.match(t.claim, '^(.*):%d+$') end

-- look has the owner of a transaction look at it, now.
local function look(t)
  local process = owner(t)
  if not process then return end
  put('own:' .. process, now, t.uid)
  call('PUBLISH', P .. 'wake', t.uid)
end

-- token is the next of a process's claims. Its number is above all that were given before, and tells
-- since when it has it: it is the microseconds since 1970, or the next one.
local claims
local function token(process)
  claims = math.max((claims or tonumber(call('GET', P .. 'n:claim') or '0')) + 1, micros)
  strings['n:claim'] = digits(claims)
  return process .. ':' .. strings['n:claim']
end

-- claim gives a transaction to a process, to be looked at now. A process that is not
-- known any more has its claims taken over, unless its heartbeat comes.
local function claim(t, process)
  t.claim = token(process)
  put('own:' .. process, now, t.uid)
  call('ZADD', P .. 'procs', 'NX', now, process)
end

-- A queue's record: words in this order, empty for none, and behind them why it is
-- paused. queue.go has the same words.
local QUEUE = '^(%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%d+) (%S*) (%S*) (%d*) (%S*) ' ..
  '(%S*) (%S*) (%d*) (%d*) (%d*) (%d*) (%d*)\n(.*)'
local EMPTY = '0 0 0 0 0 0           \n' -- of a queue that is not there
local queues = {}

local function asked(name, text)
  local waiting_, done, failed, unresolved, back, popped, run, sender, hold, holder, set, first, since, streak, till,
    width, narrow, paused = string.match(text or EMPTY, QUEUE)
  if not waiting_ then error('the record of queue ' .. name .. ' is damaged') end
  local q = { -- what is not compared stays a text: Redis is slow at making words of numbers
    name = name, there = text and true, waiting = tonumber(waiting_), done = done, failed = failed,
    unresolved = unresolved, back = tonumber(back), popped = tonumber(popped), run = run, sender = sender,
    hold = hold, holder = holder, ready = set, first = first, since = since, streak = streak, till = till,
    width = width, narrow = narrow, paused = paused, ran = run,
  }
  queues[name] = q
  return q
end

-- found are the records of queues that were read along with something else, false for none.
local found = {}
local function que(name)
  if queues[name] then return queues[name] end
  local text = found[name]
  if text == nil then text = call('GET', P .. 'q:' .. name) end
  return asked(name, text)
end

-- sound is que, or nil for a queue whose record cannot be read: it holds up no other. What was
-- to be done with it, or else its place, is due in a minute, for a person may have mended it.
local function sound(name, todo)
  local ok, q = pcall(que, name)
  if ok then return q end
  put('due', now + 60000, todo or 'q:' .. name)
  return nil
end

local function note(q)
  strings['q:' .. q.name] = digits(q.waiting) .. ' ' .. q.done .. ' ' .. q.failed .. ' ' .. q.unresolved .. ' ' ..
    digits(q.back) .. ' ' .. digits(q.popped) .. ' ' .. q.run .. ' ' .. q.sender .. ' ' .. q.hold .. ' ' .. q.holder .. ' ' ..
    q.ready .. ' ' .. q.first .. ' ' .. q.since .. ' ' .. q.streak .. ' ' .. q.till .. ' ' .. q.width .. ' ' ..
    q.narrow .. '\n' .. q.paused
end

-- holds reports whether a queue waits for a callback, or is left alone.
local function holds(q) return q.hold ~= '' and tonumber(q.hold) > now end

-- What runs of a queue, and those whose callbacks it waits for, are one word: uids in order,
-- with commas between them.
local function last(list) return string.match(list, '[^,]+$') end
local function has(list, uid) return string.find(',' .. list .. ',', ',' .. uid .. ',', 1, true) end
local function with(list, uid) return list == '' and uid or list .. ',' .. uid end
local function without(list, uid)
  if list == uid then return '' end
  local kept = ''
  for other in string.gmatch(list, '[^,]+') do
    if other ~= uid then kept = with(kept, other) end
  end
  return kept
end

-- glimpse is what an event has to know of a queue, its first that runs: one word is read, where all of them would
-- cost as much as the rest of a change that moves none. It is nil of a record that cannot be read.
local RUNS = '^%-?%d+ %-?%d+ %-?%d+ %-?%d+ %-?%d+ %d+ ([^ ,]*)'
local function glimpse(name)
  if queues[name] then return queues[name] end
  local text = found[name]
  if text == nil then text = call('GET', P .. 'q:' .. name) end
  local first = string.match(text or EMPTY, RUNS)
  return first and { name = name, run = first, ran = first }
end

-- A queue shows the phase of the first that runs: by run and phase which it is now, by ran and was which
-- it was as the script began. showed is which it was told to be last, by name.
local showed = {}
local function shows(run, phase)
  if run == '' then return 'waiting' end
  local t = txns[run] or whole(string.match(run, '^[^,]+'))
  return t and BOUND[t[phase]] and t[phase] or 'waiting'
end

-- event appends to the log, as one field: fewer bytes, and half the work of eight.
-- Redis counts the entries. See events.go. kind: t(ransaction), q(ueue), s(ender). actor is
-- who has said so, where a person has. q is the queue that it is about, or that of its transaction:
-- from and to stand with what that shows behind them, where this is not the same. Only what
-- becomes of a transaction moves it, once queue and transaction are what they are to be.
local actor = ''
local function word(w) return w == '' and '-' or w end
local function beside(phase, shown)
  if shown == (BOUND[phase] and phase or 'waiting') then return phase end
  return word(phase) .. '/' .. shown
end
local function event(kind, id, sender, from, to, attempt, code, q)
  if q then
    local before = showed[q.name] or shows(q.ran, 'was')
    local after = kind == 't' and shows(q.run, 'phase') or before
    showed[q.name], from, to = after, beside(from, before), beside(to, after)
  end
  local line
  if kind == 't' and from == '' and to == 'waiting' and sender .. code .. actor == '' then
    line = stamp .. ' ' .. id -- of one that was accepted
  else
    line = stamp .. ' ' .. kind .. ' ' .. id .. ' ' .. word(sender) .. ' ' .. word(from) .. ' ' .. word(to) .. ' ' ..
      word(attempt) .. ' ' .. word(code) .. (actor ~= '' and ' ' .. actor or '')
  end
  call('XADD', P .. 'events', '0-*', 'e', line)
end

-- heed has whoever drives what runs of a queue read what applies to all of it. The queue is told,
-- for any that runs may leave meanwhile; the last is marked, for whoever does not hear it.
local function heed(q)
  local those
  for uid in string.gmatch(q.run, '[^,]+') do
    local t = whole(uid)
    if t and BOUND[t.phase] and owner(t) then those = t end
  end
  if not those then return end
  put('own:' .. owner(those), now, those.uid)
  call('PUBLISH', P .. 'wake', '!' .. q.name)
end

-- awaits reports whether a queue waits for the callback of a transaction.
local function awaits(q, uid) return holds(q) and has(q.holder, uid) end

-- Before them may stand until when the queue is left alone, behind a mark that no uid has.
local function alone(q)
  local till = string.match(q.holder, '^!(%d+)')
  return till and tonumber(till) > now
end

-- hold has a queue wait until a time, and not shorter than it does.
local function hold(q, till)
  if not holds(q) then q.hold, q.holder = '', '' end
  q.hold = digits(math.max(tonumber(q.hold) or 0, till))
  put('due', q.hold, 'q:' .. q.name)
end

-- atOnce ends that a queue is left alone.
local function atOnce(q)
  q.holder = string.gsub(q.holder, '^!%d+,?', '')
  if q.holder == '' then q.hold = '' end
end

-- halt keeps a queue from binding until a time, or for '' until a person resumes it; for no
-- reason it has it bind again, at once. limit: it is no person's word, but SEQUENCER_UNRESOLVED_LIMIT,
-- and a person has to hear of it.
local function halt(q, reason, till, limit)
  q.paused, q.till = reason, till
  if limit then put('limited', now, q.name) else drop('limited', q.name) end
  if reason == '' then atOnce(q) end
  if reason ~= '' then put('paused', 0, q.name) else drop('paused', q.name) end
  if till ~= '' then put('due', till, 'p:' .. q.name) else drop('due', 'p:' .. q.name) end
end

-- A stop is what a person has said of all queues whose names begin alike, for those that come to
-- be: a line of words, since when and until when, the beginning, who says so, and why they are
-- paused, empty for none. Of those that fit a queue the last counts; without a reason it runs.
local STOP = '(%d+) (%d*) (%S+) (%S*) ([^\n]*)\n'

-- obey has a queue that comes to be paused if the stops are so.
local function obey(q, stops)
  local till, who, why
  for _, ends, begin, by, reason in string.gmatch(stops or '', STOP) do
    if string.sub(q.name, 1, #begin) == begin then till, who, why = ends, by, reason end
  end
  if (why or '') == '' or till ~= '' and not later(till) then return end
  halt(q, why, till)
  local before = actor
  actor = who
  event('q', q.name, '', '', '', '', 'PAUSED', q)
  actor = before
end

-- answered ends that it waits for a callback. It reports whether it waits for nothing else.
local function answered(q, uid)
  if not awaits(q, uid) then return false end
  q.holder = without(q.holder, uid)
  if q.holder == '' then
    q.hold = ''
  elseif string.find(q.holder, '^!%d+$') then
    q.hold = string.sub(q.holder, 2)
    put('due', q.hold, 'q:' .. q.name)
  end
  return q.hold == ''
end

-- came has a transaction stand among those of its queue that wait again, left takes
-- it from there; both only if the line has passed it.
local function came(q, uid, seq)
  if tonumber(seq) > q.popped then return end
  call('ZADD', P .. 'back:' .. q.name, seq, uid)
  q.back = q.back + 1
end
local function left(q, uid, seq)
  if tonumber(seq) > q.popped then return end
  call('ZREM', P .. 'back:' .. q.name, uid)
  q.back = q.back - 1
end

-- damaged pauses a queue whose next transaction cannot be read.
local function damaged(q, uid)
  if q.paused ~= '' then return nil end
  halt(q, 'what is stored of ' .. uid .. ' cannot be read', '')
  event('q', q.name, '', '', '', '', 'PAUSED', q)
  heed(q)
  return nil
end

-- head returns the transaction that is next in a queue, its type, not before when it may
-- be bound, who posted it, and its sequence: those that
-- came back stand before those that never left the line. What was cancelled or
-- deleted while it stood in the line is dropped when it gets to the front; after 500
-- of them the rest is left to the next tick.
local function head(q)
  if q.back > 0 then
    local uid = call('ZRANGE', P .. 'back:' .. q.name, 0, 0)[1]
    local seq, _, typ, _, begins, _, _, by = header(uid)
    return uid, typ, begins, by, seq
  end
  for _ = 1, 500 do
    local uid = call('LINDEX', P .. 'line:' .. q.name, '0')
    if not uid then return nil end
    local seq, _, typ, _, begins, _, _, by = header(uid)
    if seq then
      if not txns[uid] and call('EXISTS', P .. 'x:' .. uid) == 0 then return uid, typ, begins, by, seq end
      local t = whole(uid)
      if not t then return damaged(q, uid) end
      if t.phase == 'waiting' then return uid, typ, begins, by, seq end
      q.popped = tonumber(seq)
    end
    call('LPOP', P .. 'line:' .. q.name)
  end
  put('due', now, 'q:' .. q.name)
  return nil
end

-- wake has the processes told, once, that a bind may be possible.
local woken = false
local function wake() woken = true end

-- readyAs is the word for what a queue is ready as: a type, and behind it the seat of who
-- posted its next, a number from 1 on that is made of the name. Two names of one seat, one pair
-- in 10^14, would share its turns. Who has no name has no seat, and the first turn of a round.
local function readyAs(typ, by)
  if (by or '') == '' then return typ end
  return typ .. '@' .. string.format('%.0f', tonumber(string.sub(redis.sha1hex(by), 1, 12), 16) + 1)
end

-- stands is where a ready queue stands: the index, the member and its score.
local function stands(q)
  local at = string.find(q.ready, '@', 1, true)
  if at then return 'round:' .. string.sub(q.ready, 1, at - 1), q.since .. ' ' .. q.name, string.sub(q.ready, at + 1) end
  return 'ready:' .. q.ready, q.name, q.since
end

-- unready has a queue be ready no more.
local function unready(q)
  if q.ready ~= '' then drop(stands(q)) end
  q.ready, q.first, q.since = '', '', ''
end

-- ready has a queue stand among those that can be bound, by its next transaction and who
-- posted that, from the moment on since which that is so.
local function ready(q, uid, typ, by)
  local as = readyAs(typ, by)
  if q.ready ~= '' and q.ready ~= as then drop(stands(q)) end
  if q.since == '' then q.since = moment() end
  q.ready, q.first = as, uid
  local index, member, score = stands(q)
  put(index, score, member)
  wake()
end

-- list has a queue stand among those in which something is not over, by its turn and, behind a #, by the
-- sequence of its next, or no more. What is bound has the place that it had before.
local function list(q, seq)
  if seq then
    put('active', seq, '#' .. q.name)
    put('active', q.since ~= '' and q.since or moment(), q.name)
  elseif q.waiting == 0 and q.run == '' then
    drop('active', '#' .. q.name)
    drop('active', q.name)
  end
end

-- place makes a queue ready if it can be bound, and takes it out of the round if it
-- cannot; its record is stored.
local function place(q)
  local uid, typ, begins, by, seq
  if not holds(q) then q.hold, q.holder = '', '' end
  if q.waiting > 0 and q.run == '' and not holds(q) then uid, typ, begins, by, seq = head(q) end
  if q.paused ~= '' then
    uid = nil
  elseif later(begins) then
    put('due', begins, 'q:' .. q.name) -- what stands behind it waits, too
    uid = nil
  end
  if uid then ready(q, uid, typ, by) else unready(q) end
  list(q, seq)
  if q.there then note(q) end
end

-- plans tells in how many milliseconds the first is due, if that is new: whoever sleeps knows what
-- was first before, and looks at all others when that is due.
local function plans(due)
  local soonest = math.huge
  for _, at in pairs(due or {}) do
    if at then soonest = math.min(soonest, tonumber(at)) end
  end
  if soonest == math.huge or tonumber(call('ZRANGE', P .. 'due', '0', '0', 'WITHSCORES')[2]) < soonest then return end
  call('PUBLISH', P .. 'wake', '@' .. string.format('%d', soonest - now))
end

-- flush writes what was gathered.
local function flush()
  local set, gone = {}, {}
  for key, value in pairs(strings) do
    if value then set[#set + 1], set[#set + 2] = P .. key, value else gone[#gone + 1] = P .. key end
  end
  if #set > 0 then call('MSET', unpack(set)) end
  if #gone > 0 then call('DEL', unpack(gone)) end
  for index, members in pairs(indexes) do
    local stand, leave = {}, {}
    for member, score in pairs(members) do
      if score then
        stand[#stand + 1], stand[#stand + 2] = type(score) == 'number' and digits(score) or score, member
      else
        leave[#leave + 1] = member
      end
    end
    if #stand > 0 then call('ZADD', P .. index, unpack(stand)) end
    if #leave > 0 then call('ZREM', P .. index, unpack(leave)) end
  end
  for sender, s in pairs(changed) do
    call('HSET', P .. 's:' .. sender, 'queue', s.queue, 'next', s.next, 'streak', s.streak)
  end
  for key, fields in pairs(counts) do
    for field, n in pairs(fields) do
      -- Eight days from the first of a name on, what a day has cost is kept.
      if n ~= 0 and call('HINCRBY', P .. key, field, digits(n)) == n and key ~= 'waiting' then
        call('PEXPIRE', P .. key, 8 * DAY)
      end
    end
  end
  plans(indexes.due)
  strings, indexes, changed, counts = {}, {}, {}, {}
  -- The calling process knows by the answer of its script.
  if woken and call('ZCARD', P .. 'procs') > 1 then call('PUBLISH', P .. 'wake', '') end
end
