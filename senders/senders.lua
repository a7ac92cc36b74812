-- senders changes one sender.
--
-- ARGV[1]  register, configure, remove, rest, resume or balance
-- ARGV[2]  account; then for
--    register, configure  worker's URL, source, group; configure also the process
--                         that alone may call the worker, or ""
--    rest                 milliseconds, -1 until resumed; reason; "config" if the
--                         next configuration that names it may undo it; then it
--                         is left alone while the process that may call its
--                         worker lives; else ""; why, in words
--    balance              nanomina; then why that is too little, in words, or ""
--                         if it is enough; without it nothing is said
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
    local url = call('HGET', s, 'url')
    -- One without a worker was forgotten by Redis, and found again by what it sent.
    if op == 'register' and url ~= '' then return url == ARGV[3] and 'ok' or 'exists' end
    local group = call('HGET', s, 'group')
    if group ~= ARGV[5] then call('ZREM', P .. 'free:' .. group, account) end
    call('HSET', s, 'url', ARGV[3], 'source', ARGV[4], 'group', ARGV[5])
    name(ARGV[6])
    lift(account, function(field) return field == 'why:DRAINING:forgotten' or op == 'configure' and field == 'why:DRAINING:config' end)
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
  local config = ARGV[5] == 'config' and 'config'
  local by = config and call('HGET', s, 'by')
  local ends = by and call('ZSCORE', P .. 'procs', by)
  if ends and tonumber(ends) > now then return 'ok' end
  rest(account, tonumber(ARGV[3]), ARGV[4], config, ARGV[6])
elseif op == 'resume' then
  call('HDEL', s, 'streak')
  -- Whoever resumes it has looked: the chain is asked where its nonces are. What
  -- became of an attempt is settled by resolve, and by nothing else.
  if call('HEXISTS', s, 'why:STOPPED_NONCE') == 1 then call('HDEL', s, 'next') end
  if lift(account, function(field) return string.sub(field, 1, 20) ~= 'why:OUTCOME_UNKNOWN:' end) then
    event('s', account, account, '', '', '', 'RESUMED')
    if offer(account) then
      wake()
      return 'wake'
    end
  end
elseif op == 'balance' then
  local before = call('HGET', s, 'balance')
  call('HSET', s, 'balance', ARGV[3])
  if not ARGV[4] then return 'ok' end
  if ARGV[4] ~= '' then
    rest(account, -1, 'LOW_BALANCE', 'watch', ARGV[4])
    return 'ok'
  end
  -- Who was funded may try again what it could not pay.
  local funded = not before or #before < #ARGV[3] or #before == #ARGV[3] and before < ARGV[3]
  if lift(account, function(field) return field == 'why:LOW_BALANCE:watch' or funded and field == 'why:LOW_BALANCE' end) then
    event('s', account, account, '', '', '', 'RESTED_OVER')
    if offer(account) then
      wake()
      return 'wake'
    end
  end
end
return 'ok'
