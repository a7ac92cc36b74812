-- Put behind lib.lua in every script that runs for several calls at once: ARGV
-- has, for each, how many arguments follow, and then these, the uid first, and its queue.

-- each does one(o, n) for every call, whose n arguments stand behind ARGV[o], and
-- answers with what that answered, or {"error", text}: what goes wrong with one
-- call is not the others' concern. The transactions are read at once, and those of their
-- queues that queued(o) says will be asked for.
local function each(one, queued)
  local answers, uids, keys, names, o = {}, {}, {}, {}, 1
  while o <= #ARGV do
    uids[#uids + 1], keys[#keys + 1] = ARGV[o + 1], P .. 'x:' .. ARGV[o + 1]
    if queued(o) then names[#names + 1] = ARGV[o + 2] end
    o = o + tonumber(ARGV[o]) + 1
  end
  for i, name in ipairs(names) do keys[#uids + i] = P .. 'q:' .. name end
  local states = call('MGET', unpack(keys))
  for i, name in ipairs(names) do found[name] = states[#uids + i] end
  o = 1
  for i, uid in ipairs(uids) do
    local n = tonumber(ARGV[o])
    local ok, answer = pcall(function()
      if not txns[uid] then parse(uid, states[i]) end
      return one(o, n)
    end)
    if not ok then answer = { 'error', type(answer) == 'table' and answer.err or tostring(answer) } end
    answers[#answers + 1] = answer
    o = o + n + 1
  end
  return answers
end
