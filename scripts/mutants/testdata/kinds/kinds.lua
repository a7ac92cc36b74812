-- One of everything that can be mutated, as in kinds.go.
local limit = 7 -- want "constant moved: 7 => 8"
local long = [[ -- if a < b then return 1 end ]]

local function half(n, yes) -- a comment with a "number": 5
  if not yes and n > 1.5 then -- want "condition negated: not yes and n > 1.5 => not (not yes and n > 1.5)" "and, or exchanged: not yes and n > 1.5 => (not yes or n > 1.5)" "condition negated: not yes => yes" "condition negated: n > 1.5 => not (n > 1.5)" "comparison moved: > => >=" "constant moved: 1.5 => (1.5 + 1)"
    return false -- want "statement dropped: return false" "constant moved: false => true"
  elseif n ~= limit then n = -n end -- want "comparison moved: ~= => ==" "statement dropped: n = -n"
  while n <= 3 do n = n .. '' break end -- want "condition negated: n <= 3 => not (n <= 3)" "comparison moved: <= => <" "constant moved: 3 => 4" "statement dropped: n = n .. ''" "statement dropped: break"
  for _, v in ipairs({ n, k = n, [n] = n }) do half(v) end -- want "statement dropped: half(v)"
  repeat redis.call('SET', n, long) until yes -- want "statement dropped: redis.call('SET', n, long)" "arguments swapped: n, long => long, n" "condition negated: yes => not (yes)"
  return math.min(n, limit) or yes or #limit -- want "min, max exchanged: math.min => math.max" "and, or exchanged: math.min(n, limit) or yes => (math.min(n, limit) and yes)" "and, or exchanged: math.min(n, limit) or yes or #limit => ((math.min(n, limit) or yes) and #limit)"
end

do half(limit) end; half { limit, 2 } -- want "statement dropped: half(limit)" "statement dropped: half { limit, 2 }" "constant moved: 2 => 3"
redis.pcall('GET', 'a', long) -- want "statement dropped: redis.pcall('GET', 'a', long)" "arguments swapped: 'a', long => long, 'a'"
if long then half(limit, limit) else half({}, long) end -- want "condition negated: long => not (long)" "statement dropped: half(limit, limit)" "statement dropped: half({}, long)"

return half(limit, long, function() return true end) -- want "arguments swapped: limit, long => long, limit" "constant moved: true => false"
