-- senders changes one sender.
--
-- ARGV[1]  register, configure, remove, rest, resume or balance
-- ARGV[2]  account; then for
--    register, configure  worker's URL, source, group; configure also the process
--                         that alone may call the worker, or ""
--    rest                 milliseconds, -1 until resumed; reason; "unconfigured"
--                         if the next configuration that names it may undo it;
--                         then it is left alone while the process that may call
--                         its worker lives; else ""; why, in words
--    balance              nanomina
-- Answer: "ok", "wake" if a bind may have become possible, "none", "exists" or "bound"
local op, account = ARGV[1], ARGV[2]
local s = P .. 's:' .. account
local exists = call('EXISTS', s) == 1

-- name notes the process that alone may call the worker.
local function name(process)
  if process and process ~= '' then call('HSET', s, 'by', process) else call('HDEL', s, 'by') end
end

if op == 'register' or op == 'configure' then
  if exists then
    local v = call('HMGET', s, 'url', 'source', 'reason')
    -- One without a worker was forgotten by Redis, and found again by what it sent.
    if op == 'register' and v[1] ~= '' then return v[1] == ARGV[3] and 'ok' or 'exists' end
    local group = call('HGET', s, 'group')
    if group ~= ARGV[5] then call('ZREM', P .. 'free:' .. group, account) end
    call('HSET', s, 'url', ARGV[3], 'source', ARGV[4], 'group', ARGV[5])
    name(ARGV[6])
    if v[1] == '' then call('HDEL', s, 'reason') end
    -- Drained by a configuration that did not name it: this one does again.
    if v[3] == 'DRAINING' and v[2] == 'config' and call('HDEL', s, 'unconfigured') == 1 then
      call('HDEL', s, 'reason', 'until')
    end
    if call('HGET', s, 'reason') then return 'ok' end
  else
    call('HSET', s, 'url', ARGV[3], 'source', ARGV[4], 'group', ARGV[5])
    name(ARGV[6])
    call('ZADD', P .. 'senders', 0, account)
    event('s', account, account, '', '', '', 'REGISTERED')
  end
  if call('HGET', s, 'queue') or call('ZSCORE', P .. 'free:' .. call('HGET', s, 'group'), account) then return 'ok' end
  offer(account)
  wake()
  return 'wake'
end

if not exists then return 'none' end
local group = call('HGET', s, 'group')

if op == 'remove' then
  if call('HGET', s, 'queue') then return 'bound' end
  call('ZREM', P .. 'free:' .. group, account)
  call('ZREM', P .. 'senders', account)
  call('ZREM', P .. 'due', 's:' .. account)
  call('DEL', s)
  event('s', account, account, '', '', '', 'REMOVED')
elseif op == 'rest' then
  local ms, reason = tonumber(ARGV[3]), ARGV[4]
  local unconfigured = ARGV[5] == 'unconfigured'
  local by = unconfigured and call('HGET', s, 'by')
  local ends = by and call('ZSCORE', P .. 'procs', by)
  if ends and tonumber(ends) > now then return 'ok' end
  local before = rest(account, ms, reason)
  if ms < 0 and not unconfigured then
    call('HDEL', s, 'unconfigured')
  elseif unconfigured and before ~= reason then
    call('HSET', s, 'unconfigured', '1')
  end
  if ARGV[6] then call('HSET', s, 'detail', ARGV[6]) end
elseif op == 'resume' then
  call('HDEL', s, 'streak')
  -- Whoever resumes it has looked: the chain is asked where its nonces are.
  if call('HGET', s, 'reason') == 'STOPPED_NONCE' then call('HDEL', s, 'next') end
  if call('HDEL', s, 'reason', 'until', 'unconfigured', 'detail') > 0 then
    event('s', account, account, '', '', '', 'RESUMED')
    if offer(account) then
      wake()
      return 'wake'
    end
  end
elseif op == 'balance' then
  call('HSET', s, 'balance', ARGV[3])
end
return 'ok'
