-- takeover moves claims of a dead process to the calling one, with new tokens.
--
-- ARGV[1]  incarnation of the caller, ARGV[2] of the dead one
-- ARGV[3]  the most to take, then the ledgers that the caller has: batches for others are
--          left to who has theirs. What runs of one queue is taken together, and may be more
-- Answer:  uids taken; they are due at once
-- Cost:    about nine commands, two for each, and one for each that is another's
local me, dead = ARGV[1], ARGV[2]
local ends = call('ZSCORE', P .. 'procs', dead)
if not ends or tonumber(ends) > now or not lives(me) then return {} end
local ledgers = {}
for i = 4, #ARGV do ledgers[ARGV[i]] = true end
local function foreign(uid)
  local ledger = string.match(select(3, header(uid)) or '', '/(.*)$')
  return ledger and not ledgers[ledger]
end
local most = tonumber(ARGV[3])
local taken, all, seen = {}, {}, {}
local function add(uid)
  if not seen[uid] then all[#all + 1] = uid end
  seen[uid] = true
end
local from, step, some = 0, 10 * most
repeat
  some = call('ZRANGE', P .. 'own:' .. dead, from, from + step - 1)
  from = from + step
  for _, uid in ipairs(some) do
    if #all < most and not foreign(uid) then
      local queue = select(4, header(uid))
      local q = queue and sound(queue)
      local run = q and q.run or ''
      add(uid)
      if has(run, uid) then
        for other in string.gmatch(run, '[^,]+') do add(other) end
      end
    end
  end
until #some < step or #all >= most
for _, uid in ipairs(all) do
  local t = whole(uid)
  drop('own:' .. dead, uid)
  if t and owner(t) == dead then
    t.claim, t.revision = token(me), t.revision + 1
    write(t)
    put('own:' .. me, now, uid)
    taken[#taken + 1] = uid
  end
end
flush()
if call('ZCARD', P .. 'own:' .. dead) == 0 then
  call('ZREM', P .. 'procs', dead)
  call('HDEL', P .. 'said', dead)
elseif #taken == 0 then
  call('ZADD', P .. 'procs', now, dead) -- all others who are dead are named before it
end
return taken
