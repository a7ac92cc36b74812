-- Put before the scripts of webhooks; ARGV[1] is the id of the endpoint.
--
-- An endpoint is delivered to by the process that holds its lease. Every write of it is
-- fenced: it names the holder, the count of its leases and the count of people's changes,
-- and the namespace must be settled on this Redis.
local id = ARGV[1]
local H, PARK, HOOKS = P .. 'hook:' .. id, P .. 'park:' .. id, P .. 'hooks'
local function lane(name) return P .. 'lane:' .. id .. ':' .. name end
local function held(word)
  local v = call('HMGET', H, 'holder', 'token', 'rev')
  return v[1] and word == v[1] .. ':' .. v[2] .. ':' .. v[3] and settled()
end
-- rest has nothing sent to the endpoint for so many milliseconds; 0 changes nothing.
local function rest(ms)
  if tonumber(ms) > 0 then call('HSET', H, 'rest', string.format('%.0f', now + ms)) end
end
local SENT = 200 -- deliveries that are kept to be shown
local function told(first, last)
  if last < first then return end
  call('LPUSH', P .. 'sent:' .. id, unpack(ARGV, first, last))
  call('LTRIM', P .. 'sent:' .. id, 0, SENT - 1)
end
-- due is the time after so many milliseconds, as a score; -1 is never.
local function due(ms) return tonumber(ms) < 0 and '+inf' or string.format('%.0f', now + ms) end
