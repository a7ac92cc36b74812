-- relist has queues stand in the lists that earlier builds of this layout did not keep.
--
-- ARGV     queues
-- Answer:  "1"
-- Cost:    some five commands for each
for _, name in ipairs(ARGV) do
  local q = sound(name)
  if q and q.there then
    if q.paused ~= '' then put('paused', 0, name) end
    local uid = string.match(q.run, '^[^,]+') or q.waiting > 0 and head(q)
    if uid then list(q, (header(uid))) end
    note(q)
  end
end
flush()
return 1
