-- Put behind lib.lua in the scripts that answer with transactions.

-- facts are those that were brought for attempts of a transaction.
local function facts(t)
  return t.facts ~= '' and call('HGETALL', P .. 'f:' .. t.uid) or {}
end

-- load returns all that is stored of transactions but their signed bytes.
local function load(uids)
  local keys, answer = {}, {}
  for i, uid in ipairs(uids) do
    keys[3 * i - 2], keys[3 * i - 1], keys[3 * i] = P .. 't:' .. uid, P .. 'x:' .. uid, P .. 'r:' .. uid
  end
  local v = #keys > 0 and call('MGET', unpack(keys)) or {}
  for i, uid in ipairs(uids) do
    local posted, state, record = v[3 * i - 2], v[3 * i - 1], v[3 * i]
    answer[i] = { uid, posted, state or '', record or '', state and facts(parse(uid, state)) or {} }
  end
  return answer
end
