-- round tells what is bound before a queue that is ready, as the round stands now.
--
-- ARGV[1]  queue, then the types that are bound together
-- Answer:  {queues of the same seat, the most queues of others, how many others of which 64
--          are looked at}, or {} if it is not ready, its next is of no such type, or its
--          record cannot be read
-- Cost:    by the logarithm of what is ready, for each type, and for each of 64 others
local q = sound(ARGV[1])
if not q then return {} end
local typ, seated = string.match(q.ready, '^(.*)@(%d+)$')
if not typ then typ, seated = q.ready, '0' end
local kinds, among = {}, false
for i = 2, #ARGV do
  kinds[i - 1], among = ARGV[i], among or ARGV[i] == typ
end
if not among then return {} end
local at = tonumber(call('GET', P .. 'n:round:' .. redis.sha1hex(table.concat(kinds, ' '))) or '-1')

-- many counts those between two seats, or where a set is named, between two times.
local function many(from, to, set)
  local n = 0
  for _, kind in ipairs(kinds) do n = n + call('ZCOUNT', P .. (set or 'round:') .. kind, from, to) end
  return n
end

-- Those of one seat stand in order: what is before it is found by halving.
local own = seated == '0' and many('-inf', '(' .. q.since, 'ready:') or 0
for _, kind in ipairs(seated == '0' and {} or kinds) do
  local round = P .. 'round:' .. kind
  local low = call('ZCOUNT', round, '-inf', '(' .. seated)
  local begin, high = low, low + call('ZCOUNT', round, seated, seated)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local since = string.match(call('ZRANGE', round, middle, middle)[1], '^%d+')
    if tonumber(since) < tonumber(q.since) then low = middle + 1 else high = middle end
  end
  own = own + low - begin
end

-- Each other has a turn before each of those, and one more if it sits before this one.
local function order(seat) return seat > at and seat or seat + 2 ^ 49 end
local mine, others, posters = tonumber(seated), 0, 0
local function beside(seat, n)
  if seat == mine or n == 0 then return end
  posters, others = posters + 1, others + math.min(n, order(seat) < order(mine) and own + 1 or own)
end
beside(0, many('-inf', '+inf', 'ready:'))
local rest, from = many('-inf', '+inf'), '0'
for _ = 1, 64 do
  local nearest
  for _, kind in ipairs(kinds) do
    local seat = call('ZRANGEBYSCORE', P .. 'round:' .. kind, '(' .. from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    if seat and (not nearest or tonumber(seat) < nearest) then nearest = tonumber(seat) end
  end
  if not nearest then break end
  from = string.format('%.0f', nearest)
  local n = many(from, from)
  rest = rest - n
  beside(nearest, n)
end
if mine > tonumber(from) then rest = rest - many(seated, seated) end
return { own, others + rest, posters }
