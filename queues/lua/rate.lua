-- rate lets requests through at an even pace, with some at once where there were
-- none for a while: a key holds the time, in microseconds, up to which what was
-- let through has used the pace up.
--
-- ARGV[1]  microseconds between two requests
-- ARGV[2]  microseconds that may be used ahead
-- then for each request: name, how many it counts for, "1" if it is let through
--      in any case, and those behind it wait the longer
-- Answer: for each 0, or the microseconds after which it may come again
local between, ahead = tonumber(ARGV[1]), tonumber(ARGV[2])
local used, answer = {}, {}
for i = 3, #ARGV, 3 do
  local name = ARGV[i]
  used[name] = math.max(used[name] or tonumber(call('GET', P .. 'rate:' .. name) or '0'), micros)
  local early = used[name] + between - micros - ahead
  if early <= 0 or ARGV[i + 2] == '1' then
    used[name] = used[name] + between * ARGV[i + 1]
    early = 0
  end
  answer[#answer + 1] = math.ceil(early)
end
for name, till in pairs(used) do
  local left = math.ceil((till - micros) / 1000)
  if left > 0 then call('SET', P .. 'rate:' .. name, string.format('%.0f', till), 'PX', left) end
end
return answer
