-- market is what all processes know of what others pay for a place in a block, and of
-- what types weigh. One process at a time looks at the pool, for all.
--
-- ARGV[1]  milliseconds between two looks: who is told so has the turn; 0 does not ask
--          for it
-- ARGV[2]  a look to be kept, "" for none: words that the caller alone reads
-- ARGV[3]  the most looks that are kept
-- then pairs: a type, and what its workers have signed weighs
-- Answer:  {1 if the caller is to look, looks, each behind the milliseconds at which it was
--          kept, the latest first, what types weigh}
-- Cost:    four to eight commands
local between, look, most = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local looks, weights = P .. 'market:looks', P .. 'market:weights'
local mine = 0
if between > 0 and call('SET', P .. 'turn:market', 1, 'NX', 'PX', between) then mine = 1 end
if look ~= '' then
  call('LPUSH', looks, string.format('%.0f', now) .. ' ' .. look)
  call('LTRIM', looks, 0, most - 1)
  call('PEXPIRE', looks, DAY)
end
if #ARGV > 3 then call('HSET', weights, unpack(ARGV, 4)) end
return { mine, call('LRANGE', looks, 0, -1), call('HGETALL', weights) }
