-- senders changes one sender.
--
-- ARGV[1]  register, configure, remove, rest, resume, balance or proves
-- ARGV[2]  account; then for
--    register, configure  worker's URL, source, group; configure also the process
--                         that alone may call the worker, or ""
--    rest                 milliseconds, -1 until resumed; reason; what may undo it: a
--                         nonce that turns out to be ours, "config" for the next
--                         configuration that names it, and then it is left alone while the
--                         process that may call its worker lives, or ""; why, in words
--    proves               its worker's URL: the one there makes proofs
--    any of them by a person: ARGV[7] is who says so, "" for nobody in particular
--    balance              nanomina; then why that is too little, in words, or ""
--                         if it is enough; without it nothing is said
-- Answer:  "ok", "wake" if a bind may have become possible, "none", "exists" or "bound"
-- Cost:    about ten commands
local op, account = ARGV[1], ARGV[2]
actor = ARGV[7] or ''
local s = P .. 's:' .. account
local exists = call('HEXISTS', s, 'group') == 1
local function field(name) return call('HGET', s, name) or '' end

-- callers are the living processes that alone may call its worker, with spaces between them.
local function callers()
  local alive = {}
  for process in string.gmatch(field('by'), '%S+') do
    if lives(process) and process ~= ARGV[6] then alive[#alive + 1] = process end
  end
  return alive
end

-- own notes what a sender is called by, and the processes that alone may call its worker.
-- What another worker has shown is not known of this one.
local function own()
  if field('url') ~= ARGV[3] then call('HDEL', s, 'proves') end
  local by = (ARGV[6] or '') ~= '' and callers() or {}
  by[#by + 1] = ARGV[6]
  call('HSET', s, 'url', ARGV[3], 'source', ARGV[4], 'group', ARGV[5], 'by', table.concat(by, ' '))
end

local function register()
  if not exists then
    own()
    put('senders', 0, account)
    event('s', account, account, '', '', '', 'REGISTERED')
    lift(account, function() return false end) -- shows what is known from before
    return offer(account)
  end
  local url, group = field('url'), field('group')
  -- One without a worker was forgotten by Redis, and found again by what it sent.
  if op == 'register' and url ~= '' then return url ~= ARGV[3] and 'exists' end
  if group ~= ARGV[5] then call('ZREM', P .. 'free:' .. group, account) end
  own()
  lift(account, function(why)
    return why == 'why:DRAINING:forgotten' or op == 'configure' and why == 'why:DRAINING:config'
  end)
  if not call('ZSCORE', P .. 'free:' .. ARGV[5], account) then offer(account) end
end

-- ended reports whether a reason ends with a person's word, or with the registration. That nobody
-- knows what became of an attempt outlives both, as the next nonce does.
local function ended(why)
  if string.sub(why, 1, 20) == 'why:OUTCOME_UNKNOWN:' then return false end
  -- Whoever ends that has looked: the chain is asked where its nonces are.
  if string.sub(why, 1, 17) == 'why:STOPPED_NONCE' then call('HSET', s, 'next', '') end
  return true
end

local function remove()
  if field('queue') ~= '' then return 'bound' end
  drop('free:' .. field('group'), account)
  drop('senders', account)
  lift(account, ended)
  call('HDEL', s, 'url', 'source', 'group', 'by', 'balance', 'streak', 'proves')
  if field('next') .. field('reason') .. field('astray') == '' then call('DEL', s) end
  event('s', account, account, '', '', '', 'REMOVED')
end

-- resumed ends reasons; code is that of the event.
local function resumed(code, which)
  if not lift(account, which) then return end
  event('s', account, account, '', '', '', code)
  offer(account)
end

local function balance()
  local before = field('balance')
  call('HSET', s, 'balance', ARGV[3])
  if not ARGV[4] then return end
  if ARGV[4] ~= '' then return rest(account, -1, 'LOW_BALANCE', 'watch', ARGV[4]) end
  -- Who was funded may try again what it could not pay.
  local funded = #before < #ARGV[3] or #before == #ARGV[3] and before < ARGV[3]
  resumed('RESTED_OVER', function(why) return why == 'why:LOW_BALANCE:watch' or funded and why == 'why:LOW_BALANCE' end)
end

local answer
if op == 'register' or op == 'configure' then
  answer = register()
elseif not exists then
  return 'none'
elseif op == 'remove' then
  answer = remove()
elseif op == 'rest' then
  local by = ARGV[5] and ARGV[5] ~= '' and ARGV[5]
  if by ~= 'config' or #callers() == 0 then rest(account, tonumber(ARGV[3]), ARGV[4], by, ARGV[6]) end
elseif op == 'resume' then
  call('HSET', s, 'streak', '')
  -- What became of an attempt is settled by resolve, and by nothing else.
  resumed('RESUMED', ended)
elseif op == 'proves' then
  if field('url') == ARGV[3] then call('HSET', s, 'proves', 1) end
elseif op == 'balance' then
  answer = balance()
end
flush()
return answer or woken and 'wake' or 'ok'
