-- rights tries whatever scripts do, on a key of its own, which it leaves as it was. A script that
-- is stopped by a missing right has written already, so none may come to that.
--
-- Answer:  what Redis says of each command that its user may not use, its name first
-- Cost:    some fifty commands, once in the life of a process
local probe = P .. 'is:probe'
local lacking = {}
local function try(command, ...)
  local said = redis.pcall(command, ...)
  local why = type(said) == 'table' and said.err
  if why and (string.find(why, 'NOPERM', 1, true) or string.find(why, "script can't", 1, true)) then
    lacking[#lacking + 1] = command .. ': ' .. why
  end
end
for _, tries in ipairs({
  { { 'SET', probe, 1 }, { 'GET', probe }, { 'GETRANGE', probe, 0, 0 }, { 'MGET', probe }, { 'MSET', probe, 1 },
    { 'INCR', probe }, { 'INCRBY', probe, 1 }, { 'EXISTS', probe }, { 'PEXPIRE', probe, 1000 } },
  { { 'HSET', probe, 'a', 1 }, { 'HSETNX', probe, 'a', 1 }, { 'HGET', probe, 'a' }, { 'HMGET', probe, 'a' },
    { 'HGETALL', probe }, { 'HVALS', probe }, { 'HEXISTS', probe, 'a' }, { 'HINCRBY', probe, 'a', 1 },
    { 'HDEL', probe, 'a' } },
  { { 'ZADD', probe, 1, 'a' }, { 'ZINCRBY', probe, 1, 'a' }, { 'ZSCORE', probe, 'a' }, { 'ZCARD', probe },
    { 'ZCOUNT', probe, 0, 1 }, { 'ZRANGE', probe, 0, 0 }, { 'ZRANGEBYSCORE', probe, 0, 1 },
    { 'ZREVRANGE', probe, 0, 0 }, { 'ZREM', probe, 'a' } },
  { { 'RPUSH', probe, 'a' }, { 'LPUSH', probe, 'a' }, { 'LLEN', probe }, { 'LINDEX', probe, 0 },
    { 'LRANGE', probe, 0, 0 }, { 'LSET', probe, 0, 'b' }, { 'LREM', probe, 1, 'b' }, { 'LTRIM', probe, 0, 0 },
    { 'LPOP', probe } },
  { { 'XADD', probe, '*', 'a', 1 }, { 'XRANGE', probe, '-', '+', 'COUNT', 1 }, { 'XLEN', probe },
    { 'XTRIM', probe, 'MAXLEN', 1 } },
  { { 'PUBLISH', P .. 'wake', 'is:probe' }, { 'INFO', 'replication' } },
}) do
  for _, one in ipairs(tries) do try(unpack(one)) end
  call('DEL', probe)
end
return lacking
