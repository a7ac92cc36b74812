-- Put behind lib.lua in every script that runs for several calls at once: ARGV
-- holds, for each, how many arguments follow, and then these.
--
-- each does one(o, n) for every call, whose n arguments stand behind ARGV[o], and
-- answers with what that answered, or {"error", text}: what goes wrong with one
-- call is not the others' concern.
local function each(one)
  local answers, o = {}, 1
  while o <= #ARGV do
    local n = tonumber(ARGV[o])
    local ok, answer = pcall(one, o, n)
    if not ok then answer = { 'error', type(answer) == 'table' and answer.err or tostring(answer) } end
    answers[#answers + 1] = answer
    o = o + n + 1
  end
  return answers
end
