-- remove deletes a transaction that is final, or DONE past finality.
--
-- ARGV[1]  uid, ARGV[2] milliseconds that its key is known
-- Answer: "ok", "gone", or "busy" if it is not final or still watched
if call('EXISTS', P .. 't:' .. ARGV[1]) == 0 then return 'gone' end
local v = call('HMGET', P .. 'x:' .. ARGV[1], 'phase', 'final', 'claim', 'open')
local phase = v[1]
if phase == 'done' and not v[2] then return 'busy' end
if phase ~= 'done' and phase ~= 'failed' and phase ~= 'unresolved' then return 'busy' end
if (v[4] and tonumber(v[4]) > 0) then return 'busy' end
if v[3] then
  local incarnation = string.match(v[3], '^(.*):%d+$')
  if incarnation then call('ZREM', P .. 'own:' .. incarnation, ARGV[1]) end
end
if remove(ARGV[1], ARGV[2]) then wake() end
return 'ok'
