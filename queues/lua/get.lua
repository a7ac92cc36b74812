-- get reads transactions as they are at one instant.
--
-- ARGV     uids
-- Answer: for each {uid, record or nil, state fields, attempt fields}
local answer = {}
for i = 1, #ARGV do answer[i] = load(ARGV[i]) end
return answer
