-- Put behind lib.lua in every script that runs for several calls at once: ARGV
-- holds, for each, how many arguments follow, and then these, the uid first, and its queue.

-- each does one(o, n) for every call, whose n arguments stand behind ARGV[o], and
-- answers with what that answered, or {"error", text}: what goes wrong with one
-- call, unless the memory is full, is not the others' concern. The transactions are read
-- at once, with their queues.
local function each(one)
  local answers, keys, o = {}, {}, 1
  while o <= #ARGV do
    keys[#keys + 1], keys[#keys + 2] = P .. 'x:' .. ARGV[o + 1], P .. 'q:' .. ARGV[o + 2]
    o = o + tonumber(ARGV[o]) + 1
  end
  local states = call('MGET', unpack(keys))
  o = 1
  for i = 1, #keys, 2 do
    local uid, n = ARGV[o + 1], tonumber(ARGV[o])
    found[ARGV[o + 2]] = states[i + 1]
    local ok, answer = pcall(function()
      if not txns[uid] then parse(uid, states[i]) end
      return one(o, n)
    end)
    if not ok then
      local text = type(answer) == 'table' and answer.err or tostring(answer)
      if string.find(text, '^OOM') then error(answer) end -- before anything is written: see full.lua
      answer = { 'error', text }
    end
    answers[#answers + 1] = answer
    o = o + n + 1
  end
  return answers
end
