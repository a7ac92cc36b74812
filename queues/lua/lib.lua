-- Shared by all scripts, put before each of them.
--
-- KEYS[1] is the prefix of every key, "{namespace}:". Its hash tag puts all
-- keys of a namespace into one slot, so that a script may name them itself.
-- The layout of the keys is described in keys.go.

local P = KEYS[1]
local call = redis.call

-- Milliseconds and microseconds since 1970 by the clock of Redis: processes
-- may disagree about the time, so none of them is asked.
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local micros = clock[1] * 1000000 + clock[2]
-- now, as it is stored: Redis is slow at making words of numbers.
local stamp = clock[1] .. string.sub(1000 + math.floor(clock[2] / 1000), 2)

local DAY = 86400000 -- milliseconds

-- server is the run id of the Redis that runs this script: another one after a
-- restart and after a failover. One that does not tell it never changes.
local function server()
  local info = redis.pcall('INFO', 'server')
  local _, before = string.find(type(info) == 'string' and info or '', 'run_id:', 1, true)
  return before and string.match(info, '^%w+', before + 1) or 'none'
end

-- settled answers whether this is the Redis on which the namespace was last
-- reconciled. On any other nothing is bound, and nothing may leave a process.
local reconciled
local function settled()
  if reconciled == nil then reconciled = call('GET', P .. 'is:server') == server() end
  return reconciled
end

local BOUND = { dispatching = true, sent = true, watching = true, failing = true, delayed = true }
-- The index that lists a transaction by its state: one for all bound phases,
-- which pass quickly and are few.
local INDEX = {
  dispatching = 'bound', sent = 'bound', watching = 'bound', failing = 'bound', delayed = 'bound',
  done = 'st:DONE', failed = 'st:FAILED', unresolved = 'st:UNRESOLVED',
}
-- The counter in a queue's record for each phase that is not bound.
local COUNT = { waiting = 'w', done = 'd', failed = 'f', unresolved = 'u' }

-- waits counts n more transactions of a type among those that wait.
local function waits(typ, n) call('HINCRBY', P .. 'waiting', typ, n) end

local function word(w) return w == '' and '-' or w end

-- event appends to the log, as one field: fewer bytes, and half the work of
-- eight. Redis counts the entries. See events.go. kind: t(ransaction), q(ueue),
-- s(ender).
local function event(kind, id, sender, from, to, attempt, code)
  call('XADD', P .. 'events', '0-*', 'e', stamp .. ' ' .. kind .. ' ' .. id .. ' ' .. word(sender) .. ' ' .. word(from) ..
    ' ' .. word(to) .. ' ' .. word(attempt) .. ' ' .. word(code))
end

-- header returns sequence, time of receipt, type and queue of a transaction,
-- or nil if there is none. The payload behind the first line is not touched.
local function header(uid)
  return string.match(call('GETRANGE', P .. 't:' .. uid, 0, 255), '^(%d+) (%d+) (%S+) (%S+)\n')
end

-- load returns all that is stored of a transaction but its signed bytes.
local function load(uid)
  return { uid, call('GET', P .. 't:' .. uid), call('HGETALL', P .. 'x:' .. uid) }
end

-- head returns the transaction that is next in a queue, its sequence and type:
-- those that came back stand before those that never left the line. What was
-- cancelled or deleted while it stood in the line is dropped when it gets to the
-- front; after 500 of them the rest is left to the next tick.
local function head(queue)
  local back = call('ZRANGE', P .. 'back:' .. queue, 0, 0)[1]
  if back then
    local seq, _, typ = header(back)
    return back, seq, typ
  end
  for _ = 1, 500 do
    local uid = call('LINDEX', P .. 'line:' .. queue, 0)
    if not uid then return nil end
    local seq, _, typ = header(uid)
    if seq then
      local phase = call('HGET', P .. 'x:' .. uid, 'phase')
      if not phase or phase == 'waiting' then return uid, seq, typ end
      call('HSET', P .. 'q:' .. queue, 'popped', seq)
    end
    call('LPOP', P .. 'line:' .. queue)
  end
  call('ZADD', P .. 'due', now, 'q:' .. queue)
  return nil
end

-- admits reports whether a queue can be bound as far as its record v tells:
-- 'run', 'paused', 'hold'.
local function admits(v) return not v[1] and not v[2] and (not v[3] or tonumber(v[3]) <= now) end

-- ready puts a queue into the ready set of its head's type. was: the one it is in.
local function ready(queue, was, uid, seq, typ)
  if was and was ~= typ then call('ZREM', P .. 'ready:' .. was, queue) end
  call('ZADD', P .. 'ready:' .. typ, seq, queue)
  call('HSET', P .. 'q:' .. queue, 'ready', typ, 'first', uid)
end

-- standing reads of a queue's record what place looks at, and who holds it.
local function standing(queue)
  return call('HMGET', P .. 'q:' .. queue, 'run', 'paused', 'hold', 'ready', 'w', 'astray', 'holder')
end

-- place makes a queue ready if it can be bound, and takes it out of the ready
-- set if it cannot. It answers whether the queue is ready. v: what standing reads,
-- where that has been read already.
local function place(queue, v)
  local q = P .. 'q:' .. queue
  v = v or standing(queue)
  local uid, seq, typ
  if v[5] and v[5] ~= '0' and not v[6] and admits(v) then uid, seq, typ = head(queue) end
  if uid then
    ready(queue, v[4], uid, seq, typ)
  elseif v[4] then
    call('ZREM', P .. 'ready:' .. v[4], queue)
    call('HDEL', q, 'ready', 'first')
  end
  return uid ~= nil
end

-- offer puts a sender among the free ones if nothing speaks against it.
local function offer(sender)
  local v = call('HMGET', P .. 's:' .. sender, 'group', 'queue', 'reason', 'astray')
  if v[1] and not v[2] and not v[3] and not v[4] then
    call('ZADD', P .. 'free:' .. v[1], micros, sender)
    return true
  end
  return false
end

-- What keeps a sender out of use, gravest first: of several reasons, which are
-- kept apart as why:<REASON>, this one is shown.
local RANK = {
  OUTCOME_UNKNOWN = 1, STOPPED_NONCE = 2, WRONG_NETWORK = 3, WRONG_ACCOUNT = 4, LOW_BALANCE = 5, DRAINING = 6, RESTED = 7,
}

-- lift takes back the reasons of a sender for which gone(field, ends) is true,
-- shows the gravest of the others, and has the clock end the next of them. It
-- answers whether any was taken back. ends is 0 for what no clock ends.
local function lift(sender, gone)
  local s = P .. 's:' .. sender
  local fields, lifted = call('HGETALL', s), false
  local shown, until_, detail, soonest
  for i = 1, #fields, 2 do
    local reason = string.match(fields[i], '^why:([A-Z_]+)')
    if reason then
      local ends, words = string.match(fields[i + 1], '^(%d+) ?(.*)')
      ends = tonumber(ends)
      if gone(fields[i], ends) then
        call('HDEL', s, fields[i])
        lifted = true
      else
        if ends > 0 then soonest = math.min(soonest or ends, ends) end
        if not shown or RANK[reason] < RANK[shown] then
          shown, until_, detail = reason, ends, words
        elseif reason == shown then
          if ends == 0 or until_ > 0 and ends > until_ then until_, detail = ends, words end
        end
      end
    end
  end
  if shown then call('HSET', s, 'reason', shown) else call('HDEL', s, 'reason') end
  if shown and until_ > 0 then call('HSET', s, 'until', until_) else call('HDEL', s, 'until') end
  if shown and detail ~= '' then call('HSET', s, 'detail', detail) else call('HDEL', s, 'detail') end
  if soonest then call('ZADD', P .. 'due', soonest, 's:' .. sender) else call('ZREM', P .. 'due', 's:' .. sender) end
  return lifted
end

-- rest takes a sender out of use, for ms milliseconds or, if that is negative,
-- until somebody resumes it. The same reason may be given by several (by), and
-- in words. A rest that ends by itself does not end what only a person may end.
local function rest(sender, ms, reason, by, words)
  local s, field = P .. 's:' .. sender, 'why:' .. reason .. (by and ':' .. by or '')
  local v = call('HMGET', s, 'group', field)
  if not v[1] then return end
  words = words and words ~= '' and ' ' .. words or ''
  if ms < 0 then
    call('HSET', s, field, '0' .. words)
  elseif not v[2] or string.sub(v[2], 1, 1) ~= '0' then
    call('HSET', s, field, now + ms .. words)
  end
  call('ZREM', P .. 'free:' .. v[1], sender)
  lift(sender, function() return false end)
  if not v[2] then event('s', sender, sender, '', '', '', reason) end
end

-- raise stores a number unless a higher one is there.
local function raise(key, field, value)
  local known = call('HGET', key, field)
  if not known or tonumber(known) < tonumber(value) then call('HSET', key, field, value) end
end

-- lives reports whether the claims of a process hold. Nobody takes over from one
-- that is not known, so it gets none: a failover may have forgotten that it is here.
local function lives(process)
  local ends = call('ZSCORE', P .. 'procs', process)
  return ends and tonumber(ends) > now
end

-- wake tells the other processes, if there are any, once, that a bind may be
-- possible; the calling one knows by the answer of its script.
local woken = false
local function wake()
  if woken then return end
  woken = true
  if call('ZCARD', P .. 'procs') > 1 then call('PUBLISH', P .. 'wake', '') end
end
