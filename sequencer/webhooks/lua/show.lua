-- show reads how endpoints are.
--
-- ARGV[1]  id, or "" for all
-- Answer:  {now, number of the newest event, then for each endpoint in order of its id: id, its
--          cursor, definition, count of changes, milliseconds that it rests, events
--          parked, bytes of them, lanes, lanes that wait for a person, events dropped,
--          holder, time of the first event behind its cursor or "", the last delivery or ""}
-- Cost:    two commands, and seven for each endpoint
local newest = call('XREVRANGE', P .. 'events', '+', '-', 'COUNT', 1)[1]
newest = newest and string.sub(newest[1], 3) or '0'
local answer = { now, newest }
local ids = id ~= '' and { id } or call('ZRANGE', HOOKS, 0, -1)
table.sort(ids)
for _, name in ipairs(ids) do
  local at = call('ZSCORE', HOOKS, name)
  if at then
    local v = call('HMGET', P .. 'hook:' .. name, 'what', 'rev', 'rest', 'parked', 'bytes', 'dropped', 'holder', 'until')
    local park = P .. 'park:' .. name
    local next = call('XRANGE', P .. 'events', '(0-' .. at, '+', 'COUNT', 1)[1]
    for _, word in ipairs({
      name, at, v[1], v[2], math.max(0, tonumber(v[3] or '0') - now), v[4] or '0', v[5] or '0',
      call('ZCARD', park), call('ZCOUNT', park, '+inf', '+inf'), v[6] or '0',
      v[8] and tonumber(v[8]) > now and v[7] or '', next and string.match(next[2][2], '^%d+') or '',
      call('LINDEX', P .. 'sent:' .. name, 0) or '',
    }) do answer[#answer + 1] = word end
  end
end
return answer
