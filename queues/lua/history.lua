-- history adds what one process saw to what is kept of the last hour, day and week.
--
-- ARGV[1]     a name that nothing else is told by: what comes twice counts once
-- ARGV[2..6]  what was accepted, DONE, ended otherwise, tried again, and nanomina that blocks took
-- ARGV[7..8]  as it is now: what waits, and what has a sender
-- ARGV[9..]   how many of the DONE took so long, see history.go
-- Answer:     "ok"
-- Cost:       seven commands, and three more where a part begins
if not call('SET', P .. 'turn:over:' .. ARGV[1], '', 'NX', 'PX', 60000) then return 'ok' end
local SPANS = { { 60, 60 }, { 900, 96 }, { 7200, 84 } } -- seconds, and how many are kept
for _, span in ipairs(SPANS) do
  local key, n, words = P .. 'over:' .. span[1], math.floor(now / 1000 / span[1]), {}
  local was = call('HGET', key, n)
  for word in string.gmatch(was or '', '%S+') do words[#words + 1] = word end
  for i = 1, #ARGV - 1 do
    local more = ARGV[i + 1]
    words[i] = (i == 6 or i == 7) and more or string.format('%.0f', (tonumber(words[i]) or 0) + tonumber(more))
  end
  call('HSET', key, n, table.concat(words, ' '))
  if not was then
    for _, old in ipairs(call('HKEYS', key)) do
      if tonumber(old) <= n - span[2] then call('HDEL', key, old) end
    end
    call('PEXPIRE', key, span[1] * span[2] * 1000)
  end
end
return 'ok'
