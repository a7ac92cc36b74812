-- stop keeps what a person says of all queues whose names begin so, for those that come to be later;
-- what was said before of a part of them is over. See obey in lib.lua.
--
-- ARGV[1]  why they are paused, "" if they run; ARGV[2] until when, "" for ever; ARGV[3] who says so
-- ARGV[4]  the most that is kept; then the beginnings
-- Answer:  "ok", or "many": it would be more, and nothing is changed
-- Cost:    two commands
local kept, before = {}, {}
local function within(name, begin) return string.sub(name, 1, #begin) == begin end

-- keep leaves out what makes no difference: they run, or the time is over, and nothing else is said.
local function keep(since, till, begin, by, why)
  local counts = why ~= '' and (till == '' or later(till))
  for _, wider in ipairs(kept) do counts = counts or within(begin, wider[3]) end
  if counts then kept[#kept + 1] = { since, till, begin, by, why } end
end

for since, till, begin, by, why in string.gmatch(call('GET', P .. 'stops') or '', STOP) do
  local over = false
  for i = 5, #ARGV do over = over or within(begin, ARGV[i]) end
  if not over then
    keep(since, till, begin, by, why)
  elseif why == ARGV[1] and till == ARGV[2] then
    before[begin] = since -- it is said once more
  end
end
for i = 5, #ARGV do keep(before[ARGV[i]] or stamp, ARGV[2], ARGV[i], ARGV[3], ARGV[1]) end
if #kept > tonumber(ARGV[4]) then return 'many' end
local text = ''
for _, stop in ipairs(kept) do text = text .. table.concat(stop, ' ') .. '\n' end
strings.stops = text ~= '' and text
flush()
return 'ok'
