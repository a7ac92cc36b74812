-- spent tells what attempts that were begun on some days cost, in nanomina: by all senders, and by the
-- queues that cost most.
--
-- ARGV[1]  how many days, today's the first
-- ARGV[2]  the most queues of a day
-- Answer:  {for each day: its number since 1970 (UTC), {sender, nanomina, …; "*": all},
--          {queue, nanomina, …}}
-- Cost:    two commands for each day
local answer = {}
local today = math.floor(now / DAY)
for day = today, today - tonumber(ARGV[1]) + 1, -1 do
  local n = #answer
  answer[n + 1], answer[n + 2] = day, call('HGETALL', P .. 'fees:' .. day)
  answer[n + 3] = call('ZREVRANGE', P .. 'spent:' .. day, 0, tonumber(ARGV[2]) - 1, 'WITHSCORES')
end
return answer
