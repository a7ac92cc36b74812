-- line reads a list of uids in order of sequence, a queue's line or a page, from
-- behind a sequence on.
--
-- ARGV[1]  "line:<queue>" or "page:<n>"
-- ARGV[2]  sequence to begin behind, ARGV[3] how many entries to look at
-- ARGV[4]  "1" to pass over those that have changed since they were posted:
--          in a line, they are also among the past
-- Answer: {entries looked at, sequence of the last of them, uid, sequence, …}
local key, behind, most = P .. ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local low, high = 0, call('LLEN', key)
while low < high do
  local middle = math.floor((low + high) / 2)
  if tonumber((header(call('LINDEX', key, middle)))) <= behind then low = middle + 1 else high = middle end
end
local uids = call('LRANGE', key, low, low + most - 1)
local answer = { #uids, 0 }
for _, uid in ipairs(uids) do
  local seq = tonumber((header(uid)))
  answer[2] = seq
  if ARGV[4] ~= '1' or call('EXISTS', P .. 'x:' .. uid) == 0 then
    answer[#answer + 1] = uid
    answer[#answer + 1] = seq
  end
end
return answer
