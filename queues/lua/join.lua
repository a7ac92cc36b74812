-- join binds the next of a queue behind those of it that run, to their sender, for the
-- process that drives them. While a queue waits for a sender, and none is free, nothing
-- joins; nor on a sender that is out of use.
--
-- ARGV[1]  incarnation of the calling process
-- ARGV[2]  queue  3 the last of those that run, as the caller knows it
-- ARGV[4]  how many of those that run are in no block yet, as the caller knows it, but for those
--          that may be made beside the width
-- ARGV[5]  the most that may be, where nobody has said otherwise for the queue
-- ARGV[6]  1 if those that run may be with their worker still, 0 if the last has to be out
-- ARGV[7]  number of types that may join; 8 of all that the caller dispatches, 9 of groups of
--          senders that it may use; then the types that may join, all types, the groups
-- Answer:  {} if nothing joins; {the transaction as in get, sender, url}
-- Cost:    some fifteen commands
local me, queue, behind, out, width = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local njoin, ntypes, ngroups = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local q = que(queue)
if q.run == '' or last(q.run) ~= behind or q.waiting == 0 or q.paused ~= '' or not lives(me) or not settled() then
  return {}
end
local sender = call('HMGET', P .. 's:' .. q.sender, 'url', 'reason')
if (sender[2] or '') ~= '' then return {} end
width = tonumber(q.width) or width
local limit = math.min(width, tonumber(q.narrow) or width)
if out >= limit or alone(q) then return {} end
local before = txn(behind)
local released = (before.phase == 'sent' or before.phase == 'watching') and (tonumber(before.open) or 0) > 0
local made = ARGV[6] == '1' and before.phase == 'dispatching'
if not (released or made) or owner(before) ~= me then return {} end

local uid, typ, begins = head(q)
note(q) -- how far the line is taken may have changed
local joins = false
for i = 10, 9 + njoin do joins = joins or ARGV[i] == typ end
local v = uid and joins and not later(begins) and call('MGET', P .. 't:' .. uid, P .. 'x:' .. uid)
local seq = v and v[1] and string.match(v[1], '^%d+')
if not seq or tonumber(seq) < tonumber((header(behind))) then
  flush()
  return {}
end

-- waiting reports whether one of some sets has a member.
local function some(prefix, from, to)
  for i = from, to do
    if call('EXISTS', P .. prefix .. ARGV[i]) == 1 then return true end
  end
  return false
end
local function ready_(kind) return some(kind, 10 + njoin, 9 + njoin + ntypes) end
if (ready_('ready:') or ready_('round:')) and not some('free:', 10 + njoin + ntypes, 9 + njoin + ntypes + ngroups) then
  flush()
  return {}
end

local t = parse(uid, v[2])
if tonumber(seq) > q.popped then
  call('LPOP', P .. 'line:' .. queue)
  q.popped = tonumber(seq)
else
  left(q, uid, seq)
end
q.waiting, q.run = q.waiting - 1, with(q.run, uid)
note(q)
waits(typ, -1)
if t.fresh then put('past:' .. queue, seq, uid) end
carry(t, q.sender)
t.revision, t.phase, t.since, t.due = t.revision + 1, 'dispatching', stamp, ''
claim(t, me)
put('bound', seq, uid)
event('t', uid, q.sender, 'waiting', 'dispatching', '', '', q)
local text = write(t)
flush()
return { { uid, v[1], text, facts(t) }, q.sender, sender[1] or '' }
