-- Put behind lib.lua in the scripts that answer with transactions.

-- facts are those that were brought for attempts of a transaction.
local function facts(t)
  return t.facts ~= '' and call('HGETALL', P .. 'f:' .. t.uid) or {}
end

-- load returns all that is stored of transactions but their signed bytes.
local function load(uids)
  local keys, answer = {}, {}
  for i, uid in ipairs(uids) do keys[2 * i - 1], keys[2 * i] = P .. 't:' .. uid, P .. 'x:' .. uid end
  local v = #keys > 0 and call('MGET', unpack(keys)) or {}
  for i, uid in ipairs(uids) do
    local posted, text = v[2 * i - 1], v[2 * i]
    local ok, t = pcall(parse, uid, text) -- the caller tells what cannot be read
    answer[i] = { uid, posted, text or '', text and ok and facts(t) or {} }
  end
  return answer
end
