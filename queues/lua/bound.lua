-- bound reads what is bound, in order of sequence.
--
-- ARGV[1]  sequence to begin behind, ARGV[2] the most to read
-- Answer:  {uid, sequence, queue of each, "" of one whose record cannot be read}
-- Cost:    one command, and one for each
local answer = {}
local uids = call('ZRANGEBYSCORE', P .. 'bound', '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
for i = 1, #uids, 2 do
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3] = uids[i], uids[i + 1], select(4, header(uids[i])) or ''
end
return answer
