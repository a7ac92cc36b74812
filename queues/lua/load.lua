-- Put behind lib.lua in the scripts that answer with transactions.

-- facts are those that were brought for attempts of a transaction.
local function facts(t)
  return t.facts ~= '' and call('HGETALL', P .. 'f:' .. t.uid) or {}
end

-- An answer ends with the transaction that brings it over so many bytes.
local FULL = 1048576

-- load returns all that is stored of the first of some transactions, but their signed
-- bytes: of as many as an answer takes, one at least.
local function load(uids)
  local answer, bytes = {}, 0
  for i, uid in ipairs(uids) do
    if bytes >= FULL then break end
    local v = call('MGET', P .. 't:' .. uid, P .. 'x:' .. uid)
    local text = v[2]
    local ok, t = pcall(parse, uid, text) -- the caller tells what cannot be read
    answer[i] = { uid, v[1], text or '', text and ok and facts(t) or {} }
    bytes = bytes + #(v[1] or '') + #(text or '')
  end
  return answer
end
