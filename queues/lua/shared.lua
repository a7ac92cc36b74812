-- Put behind lib.lua in every script that runs for several calls at once: ARGV
-- holds, for each, how many arguments follow, and then these, the uid first.

-- each does one(o, n) for every call, whose n arguments stand behind ARGV[o], and
-- answers with what that answered, or {"error", text}: what goes wrong with one
-- call is not the others' concern. The transactions are read at once.
local function each(one)
  local answers, uids, keys, o = {}, {}, {}, 1
  while o <= #ARGV do
    uids[#uids + 1] = ARGV[o + 1]
    keys[#keys + 1] = P .. 'x:' .. ARGV[o + 1]
    o = o + tonumber(ARGV[o]) + 1
  end
  local states = call('MGET', unpack(keys))
  o = 1
  for i, uid in ipairs(uids) do
    local n = tonumber(ARGV[o])
    local ok, answer = pcall(function()
      if not txns[uid] then parse(uid, states[i]) end
      return one(o, n)
    end)
    if not ok then answer = { 'error', type(answer) == 'table' and answer.err or tostring(answer) } end
    answers[i] = answer
    o = o + n + 1
  end
  return answers
end
