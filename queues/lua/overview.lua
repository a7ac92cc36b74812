-- overview reads figures of the whole namespace. Its cost follows the senders and
-- the types, not the queues or transactions.
--
-- ARGV[1]  how many of the bound transactions have been read, ARGV[2] the most to read
-- Answer:  {now, {waiting, done, failed, unresolved and bound transactions, queues,
--          processes, events kept},
--          {type, waiting, ready queues, when the oldest head was received, of the 64
--          queues that have been ready longest, of the nameless and of 64 with a name …},
--          {sender, nanomina that its attempts of today cost, …},
--          {phase, type, when received, for each bound transaction read …}, the stops,
--          {how many queues a limit has paused, queue, since when, for the first of them …}}
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
  local nameless, set, oldest, fronts, from = P .. 'ready:' .. counts[i], P .. 'round:' .. counts[i], nil, {}, '0'
  local run = call('ZRANGE', nameless, 0, 63, 'WITHSCORES')
  for k = 1, #run, 2 do fronts[#fronts + 1] = { run[k], tonumber(run[k + 1]) } end
  for _ = 1, 64 do
    run = call('ZRANGEBYSCORE', set, '(' .. from, '+inf', 'WITHSCORES', 'LIMIT', 0, 64)
    if #run == 0 then break end
    from = run[2]
    for k = 1, #run, 2 do
      local since, queue = string.match(run[k], '^(%d+) (.*)')
      if run[k + 1] == from and since then fronts[#fronts + 1] = { queue, tonumber(since) } end
    end
  end
  table.sort(fronts, function(a, b) return a[2] < b[2] end)
  for k = 1, math.min(#fronts, 64) do
    local q = sound(fronts[k][1])
    local received = q and tonumber((select(2, header(q.first))))
    if received then oldest = math.min(oldest or received, received) end
  end
  local n = #types
  types[n + 1], types[n + 2], types[n + 3], types[n + 4] = counts[i], counts[i + 1], call('ZCARD', nameless) + call('ZCARD', set), oldest or ''
  total = total + tonumber(counts[i + 1])
end
local function size(set) return call('ZCARD', P .. set) end
local figures = {
  total, size('st:DONE'), size('st:FAILED'), size('st:UNRESOLVED'), size('bound'), size('queues'),
  call('ZCOUNT', P .. 'procs', '(' .. now, '+inf'), call('XLEN', P .. 'events'),
}
local fees, stops = call('HGETALL', P .. 'fees:' .. math.floor(now / DAY)), call('GET', P .. 'stops')
local limited = call('ZRANGE', P .. 'limited', 0, 19, 'WITHSCORES')
table.insert(limited, 1, size('limited'))
return { now, figures, types, fees, bound, stops or '', limited }
