-- log reads the event log as it stands at one instant, with the type and queue
-- of the transactions that the events are about.
--
-- ARGV[1]  number of the event behind which to read, ARGV[2] the most to read
-- Answer: {epoch, "1" if this Redis may have forgotten some, else "", numbers of the
--          oldest and the newest event kept ("" if there is none), the newest, the one
--          behind which was read ("" if it is not kept), then for each event: number,
--          line, type, queue}

local log = P .. 'events'
local function line(id)
  local e = call('XRANGE', log, id, id)[1]
  return e and e[2][2] or ''
end

-- about returns type and queue of what an event is about, "" where there is none.
-- A transaction that was removed has left them under its key.
local seen = {}
local function about(text)
  local kind, id = string.match(text, '^%d+ (%S+) ?(%S*)')
  if id ~= '' and kind ~= 't' then return { '', '' } end
  local uid = id ~= '' and id or kind
  if not seen[uid] then
    local _, _, typ, queue = header(uid)
    if not typ then typ, queue = string.match(call('GET', P .. 'gone:' .. uid) or '', '^(%S+) (%S+)$') end
    seen[uid] = { typ or '', queue or '' }
  end
  return seen[uid]
end

local oldest = call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
local doubt = doubted() and '1' or ''
if not oldest then return { epoch(), doubt, '', '', '', '' } end
-- Numbers have no gaps, and only the oldest are ever dropped.
local first = string.sub(oldest[1], 3)
local newest = string.format('%.0f', tonumber(first) + call('XLEN', log) - 1)
local answer = { epoch(), doubt, first, newest, line('0-' .. newest), line('0-' .. ARGV[1]) }
local most = tonumber(ARGV[2])
for _, e in ipairs(most > 0 and call('XRANGE', log, '(0-' .. ARGV[1], '+', 'COUNT', most) or {}) do
  local text = e[2][2]
  local of = about(text)
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4] = string.sub(e[1], 3), text, of[1], of[2]
end
return answer
