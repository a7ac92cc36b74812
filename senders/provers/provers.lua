-- provers reads or changes which provers there are.
--
-- ARGV[1]  what is done; then for
--    list      the version that is known: the answer is {} where it is still that one, else the
--              version, and of each its id and its value
--    register  id, URL
--    configure ids and URLs of some that a configuration names, in turn
--    drain     id, "config" where the next configuration that names it undoes it, or "person"
--    remove, resume  id
--    with      uid of a transaction: the answer is what was last noted of it, or ''
--    note      the same, and what is to be known of it for a day
-- Answer:  of all but list and with "ok", "none" or "exists"
-- Cost:    one or two commands, or as many as are configured
local key = P .. 'provers'
local op, id = ARGV[1], ARGV[2]

-- A value is "<source> <registered, ms> <drained, ms, or 0> <by> <URL>".
local function read(name)
  local value = call('HGET', key, name)
  if not value then return nil end
  local source, since, drained, by, url = string.match(value, '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  return { source = source, since = since, drained = drained, by = by, url = url }
end

local function write(name, x)
  call('HSET', key, name, table.concat({ x.source, x.since, x.drained, x.by, x.url }, ' '))
end

if op == 'with' then return call('GET', P .. 'with:' .. id) or '' end
if op == 'note' then
  call('SET', P .. 'with:' .. id, ARGV[3], 'PX', DAY)
  return 'ok'
end

if op == 'list' then
  if (call('HGET', key, '#') or '0') == ARGV[2] then return {} end
  local all = call('HGETALL', key)
  local out = { call('HGET', key, '#') or '0' }
  for i = 1, #all, 2 do
    if all[i] ~= '#' then
      out[#out + 1] = all[i]
      out[#out + 1] = all[i + 1]
    end
  end
  return out
end

if op == 'configure' then
  for i = 2, #ARGV, 2 do
    local known = read(ARGV[i]) or { since = stamp, drained = '0', by = '-' }
    if known.by == 'config' then known.drained, known.by = '0', '-' end
    known.source, known.url = 'config', ARGV[i + 1]
    write(ARGV[i], known)
  end
else
  local x = read(id)
  if op == 'register' then
    if x then return x.url == ARGV[3] and 'ok' or 'exists' end
    write(id, { source = 'api', since = stamp, drained = '0', by = '-', url = ARGV[3] })
  elseif not x then
    return 'none'
  elseif op == 'remove' then
    call('HDEL', key, id)
  elseif op == 'drain' then
    if x.drained == '0' or x.by == 'config' then
      if x.drained == '0' then x.drained = stamp end
      x.by = ARGV[3]
      write(id, x)
    end
  elseif op == 'resume' then
    x.drained, x.by = '0', '-'
    write(id, x)
  end
end
call('HINCRBY', key, '#', 1)
call('PUBLISH', P .. 'wake', '+')
return 'ok'
