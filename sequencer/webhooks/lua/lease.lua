-- lease renews the leases that a process holds on endpoints, and takes those that nobody
-- holds. Where the namespace is not settled there are none: what would be delivered then
-- might be told anew under another epoch.
--
-- ARGV[1]  process, ARGV[2] milliseconds that a lease lives; 0 gives all of them up
-- Answer:  for each that is held: id and fence
-- Cost:    one command, and two for each endpoint
local me, ttl = ARGV[1], tonumber(ARGV[2])
local answer = {}
if ttl > 0 and not settled() then return answer end
local all = call('ZRANGE', P .. 'hooks', 0, -1)
for _, name in ipairs(all) do
  local hook = P .. 'hook:' .. name
  local v = call('HMGET', hook, 'holder', 'token', 'rev', 'until')
  local mine = v[1] == me
  if ttl == 0 then
    if mine then call('HDEL', hook, 'holder', 'until') end
  elseif v[3] and (mine or not v[1] or tonumber(v[4]) <= now) then
    local token = mine and v[2] or string.format('%.0f', tonumber(v[2]) + 1)
    call('HSET', hook, 'holder', me, 'token', token, 'until', string.format('%.0f', now + ttl))
    local n = #answer
    answer[n + 1], answer[n + 2] = name, me .. ':' .. token .. ':' .. v[3]
  end
end
return answer
