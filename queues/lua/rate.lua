-- rate lets requests through at an even pace, with some at once where there were
-- none for a while: a key has the time, in microseconds, up to which what was
-- let through has used the pace up.
--
-- ARGV[1]  microseconds between two requests
-- ARGV[2]  microseconds that may be used ahead
-- then for each name: the name, how many are let through in any case, so that
--      those behind them wait the longer, and how many more are wanted
-- Answer: for each name how many of those that are wanted are let through, and
--      the microseconds after which the next one may come
local between, ahead = tonumber(ARGV[1]), tonumber(ARGV[2])
local answer = {}
for i = 3, #ARGV, 3 do
  local key, wanted = P .. 'rate:' .. ARGV[i], tonumber(ARGV[i + 2])
  local used = math.max(tonumber(call('GET', key) or '0'), micros) + between * ARGV[i + 1]
  local through = math.max(0, math.min(wanted, math.floor((micros + ahead - used) / between)))
  used = used + between * through
  if used > micros then call('SET', key, string.format('%.0f', used), 'PX', math.ceil((used - micros) / 1000)) end
  answer[#answer + 1] = through
  answer[#answer + 1] = math.max(0, math.ceil(used + between - micros - ahead))
end
return answer
