-- due reads the parked events whose time has come: of each lane the first.
--
-- ARGV[1]  id, ARGV[2] fence, ARGV[3] the most to read
-- Answer:  {milliseconds until the next one or -1, then for each: lane, entry}
-- Cost:    three commands, and one for each entry; it ends at about a MiB of them
if not held(ARGV[2]) then return { -1 } end
local answer, bytes = { -1 }, 0
for _, name in ipairs(call('ZRANGEBYSCORE', PARK, '-inf', now, 'LIMIT', 0, ARGV[3])) do
  local entry = call('LINDEX', lane(name), 0)
  local n = #answer
  answer[n + 1], answer[n + 2] = name, entry
  bytes = bytes + #entry
  if bytes > 1048576 then break end
end
local next = call('ZRANGEBYSCORE', PARK, '(' .. now, '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
if next then answer[1] = math.max(0, tonumber(next) - now) end
return answer
