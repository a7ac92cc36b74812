-- overview reads figures of the whole namespace. Its cost follows the senders and
-- the types, not the queues or transactions.
--
-- ARGV[1]  how many of the bound transactions have been read, ARGV[2] the most to read
-- Answer:  {now, {waiting, done, failed, unresolved and bound transactions, queues,
--          processes, events kept},
--          {type, waiting, ready queues, when the oldest head was received, of the 64
--          queues whose turn it is next …},
--          {sender, nanomina that its attempts of today cost, …},
--          {phase, type, when received, for each bound transaction read …}}
local from = tonumber(ARGV[1])
local bound = {}
for _, uid in ipairs(call('ZRANGE', P .. 'bound', from, from + tonumber(ARGV[2]) - 1)) do
  local _, received, typ = header(uid)
  local n, t = #bound, whole(uid) or { phase = 'dispatching' } -- one that cannot be read is bound, too
  bound[n + 1], bound[n + 2], bound[n + 3] = t.phase, typ or '', received or ''
end
if from > 0 then return { now, {}, {}, {}, bound } end

local types, total = {}, 0
local counts = call('HGETALL', P .. 'waiting')
for i = 1, #counts, 2 do
  local set, oldest = P .. 'ready:' .. counts[i], nil
  for _, queue in ipairs(call('ZRANGE', set, 0, 63)) do
    local q = sound(queue)
    local received = q and tonumber((select(2, header(q.first))))
    if received then oldest = math.min(oldest or received, received) end
  end
  local n = #types
  types[n + 1], types[n + 2], types[n + 3], types[n + 4] = counts[i], counts[i + 1], call('ZCARD', set), oldest or ''
  total = total + tonumber(counts[i + 1])
end
local function size(set) return call('ZCARD', P .. set) end
local figures = {
  total, size('st:DONE'), size('st:FAILED'), size('st:UNRESOLVED'), size('bound'), size('queues'),
  call('ZCOUNT', P .. 'procs', '(' .. now, '+inf'), call('XLEN', P .. 'events'),
}
return { now, figures, types, call('HGETALL', P .. 'fees:' .. math.floor(now / DAY)), bound }
