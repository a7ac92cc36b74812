-- put writes the definition of an endpoint. A new one takes the log over from now on.
--
-- ARGV[1]  id, ARGV[2] the count of changes that it was made from, 0 for a new one
-- ARGV[3]  definition, ARGV[4] the most endpoints
-- Answer:  "ok", "none", "exists", "stale" or "many"
-- Cost:    some five commands
local rev = call('HGET', H, 'rev')
if not rev then
  if ARGV[2] ~= '0' then return 'none' end
  if call('ZCARD', HOOKS) >= tonumber(ARGV[4]) then return 'many' end
  local newest = call('XREVRANGE', P .. 'events', '+', '-', 'COUNT', 1)[1]
  call('ZADD', HOOKS, newest and string.sub(newest[1], 3) or '0', id)
  -- Its first fence is none that one of the same id had before.
  call('HSET', H, 'what', ARGV[3], 'rev', '1', 'token', string.format('%.0f', now))
  return 'ok'
end
if ARGV[2] == '0' then return 'exists' end
if ARGV[2] ~= rev then return 'stale' end
call('HSET', H, 'what', ARGV[3])
call('HINCRBY', H, 'rev', 1)
call('HDEL', H, 'rest')
return 'ok'
