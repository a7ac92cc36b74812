-- line reads a list of uids in order of sequence, a queue's line or a page, from
-- behind a sequence on, or back from before it.
--
-- ARGV[1]  "line:<queue>" or "page:<n>"
-- ARGV[2]  sequence to begin behind, ARGV[3] how many entries to look at
-- ARGV[4]  "unchanged" to pass over those that have changed since they were posted, which
--          are also among the past; "waiting" to pass over those that do not wait
-- ARGV[5]  "1" to go back
-- Answer: {entries looked at, sequence of the last of them, uid, sequence, …}
local key, behind, most, back = P .. ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[5] == '1'
local low = preceding(key, back and behind or behind + 1)
local uids = {}
if not back then
  uids = call('LRANGE', key, low, low + most - 1)
elseif low > 0 then
  local some = call('LRANGE', key, math.max(0, low - most), low - 1)
  for i = #some, 1, -1 do uids[#uids + 1] = some[i] end
end
local answer = { #uids, 0 }
for _, uid in ipairs(uids) do
  local seq = sequence(uid)
  answer[2] = seq
  if vacant(uid) then
    -- It is looked at, and there is none.
  elseif ARGV[4] == '' or call('EXISTS', P .. 'x:' .. uid) == 0 or
    ARGV[4] == 'waiting' and (whole(uid) or { phase = 'waiting' }).phase == 'waiting' then
    answer[#answer + 1] = uid
    answer[#answer + 1] = seq
  end
end
return answer
