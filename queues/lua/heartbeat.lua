-- heartbeat renews the claims of a process, all at once, and says whether the
-- namespace is settled on this Redis. After a restart or a failover it is not,
-- for the last writes may be forgotten: every process that lives is given one life
-- of a claim to write back what it knows; then one of them at a time has the
-- turn to reconcile the senders with the chain. See settle.lua.
--
-- ARGV[1]  incarnation, ARGV[2] milliseconds that the claims live
-- ARGV[3]  the Redis to which the process has written back, or ""
-- ARGV[4]  what the process says of itself, for all to read, or ""; see living.go
-- Answer: {"1" if the process was not known (new, or taken for dead), now, this Redis,
--          "settled", "waiting" or "turn", incarnations whose claims have run out …}
local me, ttl, back = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local new = call('ZADD', P .. 'procs', now + ttl, me)
if ARGV[4] ~= '' then call('HSET', P .. 'said', me, ARGV[4]) end
local run, known = server(), call('GET', P .. 'is:server')
local stage, r = 'settled', P .. 'recovery'
-- Nobody was here before, as far as Redis knows: then nobody is waited for.
local alone = not known and call('ZCARD', P .. 'procs') == 1
if alone and call('EXISTS', P .. 'n:seq') == 0 then
  -- There is nothing to forget either.
  call('SET', P .. 'is:server', run)
  call('SET', P .. 'is:epoch', now)
elseif known ~= run then
  stage = 'waiting'
  if call('HGET', r, 'run') ~= run then
    call('DEL', r)
    call('HSET', r, 'run', run, 'since', now)
    -- The last token may be forgotten and held all the same, and what a recovery before had made of it.
    -- They go by the clock, which is faster than they are given.
    local last = tonumber(call('GET', P .. 'n:claim') or '0')
    call('SET', P .. 'n:claim', string.format('%.0f', math.max(micros, last + 100)))
  end
  if back == run then call('HSET', r, 'back:' .. me, 1) end
  local all = alone or now >= tonumber(call('HGET', r, 'since')) + ttl
  local live = all and call('ZRANGEBYSCORE', P .. 'procs', '(' .. now, '+inf') or {}
  for _, p in ipairs(live) do all = all and call('HEXISTS', r, 'back:' .. p) == 1 end
  if all then
    local v = call('HMGET', r, 'by', 'till', 'passed')
    -- Who has passed the turn on is given it again when another one has had it.
    local mine = v[3] ~= me or #live < 2
    if v[1] == me or mine and (not v[1] or tonumber(v[2]) <= now) then
      call('HSET', r, 'by', me, 'till', now + ttl)
      stage = 'turn'
    end
  end
end
local answer = { new, now, run, stage }
-- Who lives may not have been heard yet: nobody is taken for dead.
if stage ~= 'settled' and now < tonumber(call('HGET', r, 'since')) + ttl then return answer end
for _, dead in ipairs(call('ZRANGEBYSCORE', P .. 'procs', '-inf', now, 'LIMIT', 0, 16)) do
  if dead ~= me then answer[#answer + 1] = dead end
end
return answer
