-- Put behind lib.lua in the scripts that plan attempts.

-- charge counts what the attempts of a transaction cost with the fees of the day,
-- by sender; what was counted today and is not spent after all is taken back.
-- known is what it answered last. Where a limit would be passed nothing is
-- counted, and the second answer says which limit and what the day has cost so far.
local function charge(sender, known, cost, most, all)
  local was, day, counted = string.match(known or '', '^(%d+) (%d+) (%d+)$')
  local today = math.floor(now / DAY)
  counted = day and tonumber(day) == today and tonumber(counted) or 0
  local more = math.max(cost - tonumber(was or '0'), -counted)
  local key = P .. 'fees:' .. today
  if more > 0 and most > 0 then
    local spent = tonumber(call('HGET', key, sender) or '0')
    if spent + more > most then return nil, { 'sender', spent } end
  end
  if more > 0 and all > 0 then
    local spent = 0
    for _, v in ipairs(call('HVALS', key)) do spent = spent + tonumber(v) end
    if spent + more > all then return nil, { 'all', spent } end
  end
  if more ~= 0 and call('HINCRBY', key, sender, string.format('%.0f', more)) == more then
    call('PEXPIRE', key, 2 * DAY) -- the first of this sender
  end
  return string.format('%.0f %d %.0f', cost, today, counted + more)
end
